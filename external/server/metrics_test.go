package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

// Each metric is exported as in cmd/deploy/observe/metrics.json.
func TestMetricsAreDocumented(t *testing.T) {
	type metric struct {
		Type   string   `json:"type"`
		Labels []string `json:"labels"`
		Help   string   `json:"help"`
	}
	text, err := os.ReadFile("../../cmd/deploy/observe/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	var documented map[string]metric
	if err := json.Unmarshal(text, &documented); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	b := servertest.Start(t, func(c *server.Config) { c.Registerer = registry })
	b.Store.PutJob(job("a", "x"))
	watch(t, b, servertest.Viewer)
	answer, err := http.Get(b.URL + "/external/v1/jobs") // refused, and counted
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	shown := map[string]metric{}
	for len(shown) < 3 { // counts change after the subscribers were notified
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			m := metric{Type: strings.ToLower(f.GetType().String()), Labels: []string{}, Help: f.GetHelp()}
			for _, l := range f.GetMetric()[0].GetLabel() {
				m.Labels = append(m.Labels, l.GetName())
			}
			shown[f.GetName()] = m
		}
	}
	for name, m := range shown {
		if diff := cmp.Diff(documented[name], m); diff != "" {
			t.Errorf("%s in cmd/deploy/observe/metrics.json (-it +shown):\n%s", name, diff)
		}
	}
}
