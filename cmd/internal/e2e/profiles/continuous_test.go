package profiles

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
)

// callingService is a Prometheus server whose data show that one service calls another.
func callingService(t *testing.T, web, cart string) string {
	t.Helper()
	vector := func(samples string) string {
		return `{"status":"success","data":{"resultType":"vector","result":[` + samples + `]}}`
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		query, text := r.FormValue("query"), `{"status":"success","data":{"resultType":"matrix","result":[]}}`
		if strings.Contains(query, "istio") {
			text = vector(fmt.Sprintf(`{"metric":{"source_workload":%q,"source_workload_namespace":"default","destination_workload":%q,"destination_workload_namespace":"default"},"value":[1,"50"]}`, web, cart))
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// The continuous profiler's factors, the application and the connections are in the objects, which the
// API server accepts, and the recommendation uses them.
func TestTheContinuousProfilerCorrects(t *testing.T) {
	client, objects := connect(t)
	t.Cleanup(func() { forget(t, objects) })
	p := startProfiler(t, grant(t, client, "continuous", controller.Rights()),
		"--prometheus", callingService(t, "tuned-web", "tuned-cart"), "--continuous", "on", "--continuous-every", "1s")
	a := startAgent(t, publish.UsagesConfig{Node: "node-a", Targets: []string{p.address}})
	for _, name := range []string{"tuned-web", "tuned-cart"} {
		a.read(podOf(t, client, name, "node-a", 1), .5, 100<<20)
	}
	whatever := func(profile.Demand) bool { return true }
	cluster.Eventually(t, "factors", func() (bool, any) {
		cart := published(t, "tuned-cart", whatever).Status
		f := cart.Factors
		return f != nil && f.Applied && f.CPU == "1" && f.Memory == "1", f
	})
	cluster.Eventually(t, "connections", func() (bool, any) {
		web := published(t, "tuned-web", whatever).Status
		want := v1alpha1.Connection{Kind: "Deployment", Namespace: "default", Name: "tuned-cart", RequestBytesPerSecond: 50, ResponseBytesPerSecond: 50}
		return web.Application == "tuned-cart" && len(web.Connections) == 1 && web.Connections[0] == want, web.Connections
	})
	p.Interrupt(t)
}
