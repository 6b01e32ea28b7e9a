package autoscale_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/fake"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/plugin"
)

// silent is an API server that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestPassEnds: an API server that does not answer delays a pass for 15 s, not for ever.
func TestPassEnds(t *testing.T) {
	controller, err := autoscale.New(autoscale.Config{Namespace: "spazio"})
	if err != nil {
		t.Fatal(err)
	}
	nodes := listers.NewNodeLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))
	synctest.Test(t, func(t *testing.T) {
		client, err := dynamic.NewForConfigAndClient(&rest.Config{Host: "http://api", QPS: -1}, &http.Client{Transport: silent{}})
		if err != nil {
			t.Fatal(err)
		}
		controller.Connect(fake.NewClientset(), client, nodes, nil, time.Now)
		begin := time.Now()
		if err := controller.Pass(t.Context(), plugin.NewHub(plugin.HubOptions{})); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want %v", err, context.DeadlineExceeded)
		}
		if took := time.Since(begin); took != 15*time.Second {
			t.Errorf("the pass took %v", took)
		}
	})
}
