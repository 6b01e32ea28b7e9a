package modelserver_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// gather returns a collector's values by name and label, and checks that each is described.
func gather(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			shown[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return shown
}

func TestCollector(t *testing.T) {
	one := start(t, modelserver.Config{
		Tick:     time.Millisecond,
		Identify: func(context.Context) (string, error) { return "a", nil },
	})
	push(t, one, local("a", 0, 1))
	until(t, one, func(s modelserver.Stats) bool { return s.Nodes == 1 })
	push(t, one, local("a", 0, 1))
	until(t, one, func(s modelserver.Stats) bool { return s.Stale == 1 })
	for _, refused := range []*spaziov1.PushRequest{request(local("b", 0, 1)), {Local: &spaziov1.LocalModel{Node: "a"}}} {
		if _, err := one.Push(t.Context(), refused); err == nil {
			t.Errorf("%v was accepted", refused)
		}
	}
	want := map[string]float64{
		"spazio_aggregator_nodes": 1, "spazio_aggregator_model_version": 1, "spazio_aggregator_ready": 1,
		"spazio_aggregator_pushes_total result=accepted": 2, "spazio_aggregator_pushes_total result=stale": 1,
		"spazio_aggregator_pushes_total result=foreign": 1, "spazio_aggregator_pushes_total result=refused": 1,
		"spazio_aggregator_pushes_total result=superseded": 0, "spazio_aggregator_pushes_total result=overflowed": 0,
		"spazio_aggregator_pushes_total result=dropped": 0, "spazio_aggregator_pushes_total result=mixed": 0,
	}
	if diff := cmp.Diff(want, gather(t, modelserver.Collector(one, nil, nil))); diff != "" {
		t.Errorf("alone (-want +got):\n%s", diff)
	}
}

// TestCollectorOfAReplica also has the exchanges and the snapshots.
func TestCollectorOfAReplica(t *testing.T) {
	one, other := start(t, modelserver.Config{Tick: time.Millisecond}), start(t, modelserver.Config{Tick: time.Millisecond})
	push(t, one, local("a", 0, 1))
	until(t, one, func(s modelserver.Stats) bool { return s.Nodes == 1 })
	peers, err := modelserver.NewPeers(other, modelserver.PeersConfig{Targets: []string{serve(t, one)}})
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	if err := peers.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, other, func(s modelserver.Stats) bool { return s.Nodes == 1 })
	k, _ := keeper(t, other, filepath.Join(t.TempDir(), "state"))
	k.Save()
	shown := gather(t, modelserver.Collector(other, peers, k))
	if got := shown["spazio_aggregator_nodes"]; got != 1 {
		t.Errorf("%g nodes", got)
	}
	for _, name := range []string{"spazio_aggregator_exchange_lag_seconds", "spazio_aggregator_snapshot_age_seconds"} {
		if age, ok := shown[name]; !ok || age < 0 {
			t.Errorf("%s is %g (%t)", name, age, ok)
		}
	}
}
