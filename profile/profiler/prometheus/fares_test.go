package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/profiler/prometheus"
)

// vector formats an instant query's answer.
func vector(samples ...string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(samples, ",") + `]}}`
}

func sample(value string, labels map[string]string) string {
	var text []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		text = append(text, fmt.Sprintf("%q:%q", name, labels[name]))
	}
	return fmt.Sprintf(`{"metric":{%s},"value":[%d,%q]}`, strings.Join(text, ","), now.Unix(), value)
}

func call(from, to, value string) string {
	return sample(value, map[string]string{
		"source_workload": from, "source_workload_namespace": "shop", "destination_workload": to, "destination_workload_namespace": "shop",
	})
}

func TestFlows(t *testing.T) {
	s := serve(t, func(query string) (int, string) {
		if strings.Contains(query, "istio_request_bytes_sum") {
			return 200, vector(call("web", "cart", "100"), call("web", "ad", "1"), call("unknown", "web", "7"), call("web", "bad", "NaN"), call("web", "worse", "-1"))
		}
		return 200, vector(call("web", "cart", "4000"), call("ad", "db", "2"))
	})
	h := history(t, prometheus.Config{Address: s.URL})
	flows, err := h.Flows(t.Context(), now, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) profile.Workload { return profile.Workload{Namespace: "shop", Name: name} }
	want := []connection.Flow{
		{From: named("web"), To: named("cart"), Request: 100, Response: 4000},
		{From: named("web"), To: named("ad"), Request: 1},
		{From: named("ad"), To: named("db"), Response: 2},
	}
	if diff := cmp.Diff(want, flows); diff != "" {
		t.Error(diff)
	}
	if got := h.Dropped(); got != 3 {
		t.Errorf("%d dropped, want 3", got)
	}
	// Golden: a rate of one reporter, counted once for two replicas of the server and two ports of
	// a proxy.
	ask := `sum by (source_workload, source_workload_namespace, destination_workload, destination_workload_namespace)` +
		` (max without (instance, container, port, job, endpoint, service, monitor, prometheus, prometheus_replica, replica, __replica__)` +
		` (label_replace(rate(istio_request_bytes_sum{reporter="source"}[600s]), "host", "$1", "instance", "(.+?)(:[0-9]+)?")))`
	if got := s.asked[0].query; got != ask {
		t.Errorf("asked %s", got)
	}
}

func TestServicesFail(t *testing.T) {
	for name, answers := range map[string]func(string) (int, string){
		"500":          func(string) (int, string) { return 500, "internal" },
		"another type": func(string) (int, string) { return 200, answer() },
		"no sample":    func(string) (int, string) { return 200, vector("null") },
	} {
		h := history(t, prometheus.Config{Address: serve(t, answers).URL})
		if _, err := h.Flows(t.Context(), now, time.Minute); err == nil || !strings.Contains(err.Error(), "prometheus: query ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := history(t, prometheus.Config{Address: serve(t, func(string) (int, string) { return 200, vector() }).URL})
	if _, err := h.Flows(ctx, now, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// For any answer of a server, flows are valid for a graph.
func FuzzServices(f *testing.F) {
	for _, seed := range []string{vector(), vector(call("a", "b", "1")), vector(call("a", "b", "NaN")), vector("null"), vector(`{"metric":{},"value":[1,"2"]}`), `{"status":"success"}`} {
		f.Add(seed)
	}
	var body string
	s := serve(f, func(string) (int, string) { return 200, body })
	h := history(f, prometheus.Config{Address: s.URL})
	f.Fuzz(func(t *testing.T, text string) {
		body = text
		s.mu.Lock()
		s.asked = nil
		s.mu.Unlock()
		flows, err := h.Flows(t.Context(), now, time.Minute)
		if err == nil {
			g, _ := connection.New(connection.Config{})
			if err := g.Observe(now, time.Minute, flows); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
