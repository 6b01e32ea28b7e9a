package profiles

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
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
	a.read(podOf(t, client, "tuned-web", "node-a", 1), .5, 100<<20)
	a.readLimited(podOf(t, client, "tuned-cart", "node-a", 1), .5, 100<<20, 100, 50)
	whatever := func(profile.Demand) bool { return true }
	target := func(status v1alpha1.WorkloadProfileStatus) float64 {
		return status.Recommendation.ContainerRecommendations[0].Target.CPU.AsApproximateFloat64()
	}
	cluster.Eventually(t, "factors", func() (bool, any) {
		web, cart := published(t, "tuned-web", whatever).Status, published(t, "tuned-cart", whatever).Status
		f := cart.Factors
		if f == nil || web.Recommendation == nil || cart.Recommendation == nil {
			return false, f
		}
		// Both take the same, and only one is held up.
		cpu, err := strconv.ParseFloat(string(f.CPU), 64)
		return err == nil && f.Applied && cpu > 1.2 && f.Memory == "1" && target(cart) > 1.2*target(web), []any{f, target(cart), target(web)}
	})
	cluster.Eventually(t, "connections", func() (bool, any) {
		web := published(t, "tuned-web", whatever).Status
		want := v1alpha1.Connection{Kind: "Deployment", Namespace: "default", Name: "tuned-cart", RequestBytesPerSecond: 50, ResponseBytesPerSecond: 50}
		return web.Application == "tuned-cart" && len(web.Connections) == 1 && web.Connections[0] == want, web.Connections
	})
	p.Interrupt(t)
}
