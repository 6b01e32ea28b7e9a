package service_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/descheduler/service"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
)

func TestNewRefuses(t *testing.T) {
	kubeconfig := transporttest.Unreachable(t)
	for name, c := range map[string]struct {
		config service.Config
		field  string
	}{
		"cycle":      {service.Config{Kubeconfig: kubeconfig, Cycle: -time.Second}, "Cycle"},
		"half a key": {service.Config{Kubeconfig: kubeconfig, Args: plugin.SpazioArgs{TLSCertFile: "x"}}, "listen"},
		"no account": {service.Config{Kubeconfig: kubeconfig, Args: plugin.SpazioArgs{AgentServiceAccount: "x"}}, "agentServiceAccount"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := service.New(c.config)
			var refused *field.Error
			if !errors.As(err, &refused) || refused.Field != c.field {
				t.Errorf("error %v, want one of %s", err, c.field)
			}
		})
	}
}

// A policy is read strictly, before anything is asked of the API server.
func TestPolicyIsStrict(t *testing.T) {
	plugintest.EmptyTemp(t)
	for name, c := range map[string]struct{ args, says string }{
		"out of range":  {"{tolerance: -1}", "Tolerance = -1"},
		"no interval":   {"{interval: 0s}", "Interval"},
		"unknown field": {"{tolerances: 1}", "tolerances"},
		"no duration":   {"{sustained: soon}", "soon"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.yaml")
			text := "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: [{name: p, pluginConfig: [{name: SpazioRelief, args: " + c.args + "}]}]\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := service.New(service.Config{Kubeconfig: transporttest.Unreachable(t), PolicyFile: file})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want a word on %q", err, c.says)
			}
		})
	}
}

// Two plugins would not know of each other's reservations.
func TestPolicyHasOneRelief(t *testing.T) {
	plugintest.EmptyTemp(t)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	profile := "{name: %s, plugins: {balance: {enabled: [SpazioRelief]}}, pluginConfig: [{name: SpazioRelief, args: {}}]}"
	text := fmt.Sprintf("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: ["+profile+", "+profile+"]\n", "a", "b")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := service.New(service.Config{Kubeconfig: transporttest.Unreachable(t), PolicyFile: file})
	if err != nil {
		t.Fatal(err)
	}
	var refused *field.Error
	if err := d.Run(t.Context()); !errors.As(err, &refused) || refused.Field != "profiles[1].plugins.balance.enabled" || !errors.Is(err, service.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

// An API server without evictions, with which upstream's loop ends at once.
func TestRunEnds(t *testing.T) {
	plugintest.EmptyTemp(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	config := api.NewConfig()
	config.Clusters["c"], config.Contexts["c"], config.CurrentContext = &api.Cluster{Server: server.URL}, &api.Context{Cluster: "c"}, "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	d, err := service.New(service.Config{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("error %v", err)
	}
}

// A copy shares nothing with its original.
func TestArgsAreCopied(t *testing.T) {
	a := &service.ReliefArgs{
		TypeMeta: metav1.TypeMeta{Kind: "ReliefArgs"}, Tolerance: new(.25), Sustained: &metav1.Duration{Duration: time.Minute},
		MinAge: &metav1.Duration{}, Interval: &metav1.Duration{Duration: time.Hour}, MaxPerCycle: new(3),
	}
	b := a.DeepCopyObject().(*service.ReliefArgs)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-original +copy):\n%s", diff)
	}
	*a.Tolerance, a.Sustained.Duration, *a.MaxPerCycle = 1, 0, 1
	if *b.Tolerance != .25 || b.Sustained.Duration != time.Minute || *b.MaxPerCycle != 3 {
		t.Errorf("the copy changed with the original: %+v", b)
	}
}
