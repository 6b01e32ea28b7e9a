package observe

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	history "github.com/spazio-scheduler/spazio/profile/profiler/prometheus"
)

// serveSamples answers the profiler's queries with Prometheus' engine.
func serveSamples(t *testing.T, lines ...string) *history.History {
	t.Helper()
	s, _ := load(t, lines)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, err := s.evaluate(r)
		if err != nil {
			t.Error(err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := map[string]any{"status": "success", "data": map[string]any{"resultType": value.Type().String(), "result": value}}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	h, err := history.New(history.Config{Address: server.URL, Back: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// evaluate answers a request of Prometheus' API, /query or /query_range.
func (s *samples) evaluate(r *http.Request) (model.Value, error) {
	at := func(name string) time.Time {
		seconds, err := strconv.ParseFloat(r.FormValue(name), 64)
		if err != nil {
			return time.Time{}
		}
		return time.UnixMilli(int64(seconds * 1000))
	}
	if r.FormValue("time") != "" {
		vector, err := s.ask(r.FormValue("query"), at("time"))
		answer := model.Vector{}
		for _, one := range vector {
			answer = append(answer, &model.Sample{Metric: metricOf(one.Metric.Map()), Value: model.SampleValue(one.F), Timestamp: model.Time(one.T)})
		}
		return answer, err
	}
	step, err := strconv.ParseFloat(r.FormValue("step"), 64)
	if err != nil {
		return nil, err
	}
	query, err := engine.NewRangeQuery(context.Background(), s, nil, r.FormValue("query"), at("start"), at("end"), time.Duration(step*float64(time.Second)))
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(context.Background())
	matrix, ok := result.Value.(promql.Matrix)
	if !ok {
		return nil, errors.Join(result.Err, errors.New("no matrix"))
	}
	answer := model.Matrix{}
	for _, one := range matrix {
		stream := &model.SampleStream{Metric: metricOf(one.Metric.Map())}
		for _, p := range one.Floats {
			stream.Values = append(stream.Values, model.SamplePair{Timestamp: model.Time(p.T), Value: model.SampleValue(p.F)})
		}
		answer = append(answer, stream)
	}
	return answer, nil
}

func metricOf(labels map[string]string) model.Metric {
	m := model.Metric{}
	for name, value := range labels {
		m[model.LabelName(name)] = model.LabelValue(value)
	}
	return m
}

var nearly = cmpopts.EquateApprox(1e-6, 0)

// A container with two series after a restart counts once, by the larger; a second container of the pod
// is added, and the pod's own cgroup is not.
func TestContainersCountOnce(t *testing.T) {
	const of = `namespace="shop", pod="web-5d4f8c7b9-x2x4v"`
	at := time.Unix(90*60, 0)
	web := profile.Workload{Namespace: "shop", Kind: "Deployment", Name: "web"}
	restarted := []string{
		`container_cpu_usage_seconds_total{` + of + `, container="app", id="/old"} 0+30x99`,
		`container_cpu_usage_seconds_total{` + of + `, container="app", id="/new"} 0+30x99`,
		`container_cpu_usage_seconds_total{` + of + `, container="", id="/"} 0+30x99`,
		`container_memory_working_set_bytes{` + of + `, container="app", id="/old"} 900000000x99`,
		`container_memory_working_set_bytes{` + of + `, container="app", id="/new"} 1040000000x99`,
		`container_memory_working_set_bytes{` + of + `, container="", id="/"} 1100000000x99`,
	}
	second := append(restarted[:len(restarted):len(restarted)],
		`container_cpu_usage_seconds_total{`+of+`, container="proxy", id="/proxy"} 0+6x99`,
		`container_memory_working_set_bytes{`+of+`, container="proxy", id="/proxy"} 60000000x99`,
	)
	for _, c := range []struct {
		name        string
		lines       []string
		cpu, memory float64
	}{{"a restarted container", restarted, .5, 1.04e9}, {"and another", second, .6, 1.1e9}} {
		d, err := serveSamples(t, c.lines...).Demand(t.Context(), web, at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]float64{c.cpu, c.memory}, []float64{d.CPU.Amount, d.Memory.Amount}, nearly); diff != "" {
			t.Errorf("%s: cores and bytes (-want +got):\n%s", c.name, diff)
		}
	}
}

// A proxy counts once, however many of its ports are scraped, and in whichever container of its pod;
// another proxy, and another status code, are added.
func TestProxiesCountOnce(t *testing.T) {
	const call = `istio_request_bytes_sum{reporter="source", source_workload="web", source_workload_namespace="shop", destination_workload="cart", destination_workload_namespace="shop"`
	h := serveSamples(t,
		call+`, response_code="200", instance="10.0.0.1:15020", job="pods", container="app", pod="web-1"} 0+600x99`,
		call+`, response_code="200", instance="10.0.0.1:15090", job="envoy", container="istio-proxy", pod="web-1"} 0+600x99`,
		call+`, response_code="503", instance="10.0.0.1:15020", job="pods", container="app", pod="web-1"} 0+60x99`,
		call+`, response_code="200", instance="10.0.0.2:15020", job="pods", container="app", pod="web-2"} 0+6000x99`,
	)
	flows, err := h.Flows(t.Context(), time.Unix(90*60, 0), 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) profile.Workload { return profile.Workload{Namespace: "shop", Name: name} }
	want := []connection.Flow{{From: named("web"), To: named("cart"), Request: 10 + 1 + 100}}
	if diff := cmp.Diff(want, flows, nearly); diff != "" {
		t.Errorf("bytes a second (-want +got):\n%s", diff)
	}
}
