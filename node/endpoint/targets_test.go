package endpoint_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// The list finds each program of a process with its own labels and metrics, whatever characters its
// name has.
func TestTargets(t *testing.T) {
	var targets endpoint.Targets
	server := httptest.NewServer(endpoint.Handler(endpoint.Config{Gatherer: prometheus.NewRegistry(), Handlers: targets.Handlers()}))
	defer server.Close()
	list := func() (groups []struct {
		Targets []string
		Labels  map[string]string
	}) {
		t.Helper()
		response, err := http.Get(server.URL + endpoint.TargetsPath)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&groups); err != nil || groups == nil {
			t.Fatalf("%v: %v", groups, err)
		}
		return groups
	}
	if got := list(); len(got) != 0 {
		t.Errorf("at first %v", got)
	}
	want := map[string]float64{}
	for i, name := range []string{"node-1", "node-2", "a/b c"} {
		registry, gauge := prometheus.NewRegistry(), prometheus.NewGauge(prometheus.GaugeOpts{Name: "which"})
		registry.MustRegister(gauge)
		gauge.Set(float64(i))
		targets.Add("agent", name, registry)
		want["agent "+name] = float64(i)
	}
	got := map[string]float64{}
	for _, g := range list() {
		response, err := http.Get("http://" + g.Targets[0] + g.Labels["__metrics_path__"])
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := endpoint.ParseMetrics(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response.Status, err)
		}
		got[fmt.Sprint(g.Labels["job"], " ", g.Labels["instance"])] = metrics["which"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{"/metrics/agent/node-3", "/metrics/agent", "/metrics/agent/node-1/more"} {
		if response, err := http.Get(server.URL + path); err != nil || response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %v, %v", path, response.Status, err)
		}
	}
}
