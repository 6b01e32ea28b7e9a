package api_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

func report() agent.Report {
	return agent.Report{
		Node: "node-1", Incarnation: 1 << 60, Sequence: 7,
		SampledAt: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC),
		Schema:    "v1:cpu,memory",
		Avail:     -2.5, Allowance: 1, K: 3.25,
		Pods:      []reserve.PodKey{0, 1, math.MaxUint64},
		Saturated: true, Limiting: "cpu",
		Channels: []agent.ChannelReport{
			{Name: "cpu", Usage: 1, Capacity: .9, Cost: .25, CostSD: .05, Room: -.25, Unit: .125, StartupAllowance: .5, Most: .75},
			{Name: "memory", Usage: 0, Capacity: -.1, Cost: .01, CostSD: 0, Room: 1, Unit: 1e-9, PodSD: .25, Most: 1},
		},
		Flags: agent.Flags{Churn: true, CostUnknown: true, NoPressure: true, WarmingUp: true},

		Floored: true, TypicalCPU: .75,
		Power: energy.Power{
			Quality: energy.Shared, Watts: 81.5, SD: .25, Max: 120, Idle: 40, Marginal: 20.5, Busy: 1.75, Cores: 4, Joules: 1e15,
			Flags: energy.Extrapolated | energy.Projected,
		},
		PodCores: []float32{0, .5, 4096}, PodWatts: []float32{0, 10.25, 1e6},
		Mispredictions: []agent.Misprediction{{Pod: 3, CPURatio: 2, MemoryRatio: .5}, {Pod: math.MaxUint64}},
	}
}

func state() svd.State {
	return svd.State{Dim: 2, Block: 10, Mass: 1.75, U: []float64{.6, .8, .8, -.6}, Sigma: []float64{2, .5}}
}

func local() agent.Local {
	return agent.Local{
		Node: "node-1", Incarnation: 3, Sequence: 9, Schema: "v1:cpu,memory",
		Model: state(),
		Costs: []agent.Cost{{Value: .5, SD: .1, Known: true}, {}},
	}
}

func fleet(t *testing.T) agent.Fleet {
	t.Helper()
	model, err := svd.FromState(state())
	if err != nil {
		t.Fatal(err)
	}
	return agent.Fleet{Schema: "v1:cpu,memory", Model: model, Costs: []agent.Cost{{}, {Value: 2e8, SD: 1e7, Known: true}}, Nodes: 19}
}

// wire returns a message after encoding and decoding.
func wire[M proto.Message](t *testing.T, m, into M) M {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	return into
}

func TestRoundTrip(t *testing.T) {
	for name, want := range map[string]agent.Report{
		"full": report(),
		"zero": {Node: "n"},
	} {
		got, err := api.ToReport(wire(t, api.FromReport(want), &spaziov1.Report{}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s report (-sent +received):\n%s", name, diff)
		}
	}
	for _, want := range []api.Heartbeat{{Sequence: 1, Unchanged: 1}, {Sequence: math.MaxUint64, Unchanged: 7, SampleAge: math.MaxInt64}} {
		m := wire(t, api.FromHeartbeat(want), &spaziov1.Report{})
		got, err := api.ToHeartbeat(m)
		if err != nil || got != want || !api.IsHeartbeat(m) || api.IsHeartbeat(api.FromReport(report())) {
			t.Errorf("heartbeat %+v became %+v, %v", want, got, err)
		}
	}
	gotLocal, err := api.ToLocal(wire(t, api.FromLocal(local()), &spaziov1.LocalModel{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(local(), gotLocal); diff != "" {
		t.Errorf("local (-sent +received):\n%s", diff)
	}
	gotFleet, err := api.ToFleet(wire(t, api.FromFleet(fleet(t), 4), &spaziov1.GlobalModel{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fleet(t), gotFleet); diff != "" {
		t.Errorf("fleet (-sent +received):\n%s", diff)
	}
}

// TestHeartbeatsAreSmall a day after the agent's start, for a sample half a second old.
func TestHeartbeatsAreSmall(t *testing.T) {
	raw, err := proto.Marshal(api.FromHeartbeat(api.Heartbeat{Sequence: 100_000, Unchanged: 99_990, SampleAge: time.Second / 2}))
	if err != nil || len(raw) > 20 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

func TestUnknownCostsAreNotSent(t *testing.T) {
	l := local()
	l.Costs[1] = agent.Cost{Value: math.NaN(), SD: math.Inf(1)}
	got, err := api.ToLocal(api.FromLocal(l))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(agent.Cost{}, got.Costs[1]); diff != "" {
		t.Error(diff)
	}
}

func TestResultsShareNoMemory(t *testing.T) {
	m := api.FromLocal(local())
	got, err := api.ToLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	m.Model.U[0], m.Model.Sigma[0] = 0, 0
	if diff := cmp.Diff(local(), got); diff != "" {
		t.Errorf("a change of the message reached the result:\n%s", diff)
	}
	l := local()
	m = api.FromLocal(l)
	m.Model.U[0], m.Model.Sigma[0] = 0, 0
	if diff := cmp.Diff(local(), l); diff != "" {
		t.Errorf("a change of the message reached the input:\n%s", diff)
	}
}

func TestCheckLocalDoesNotAllocate(t *testing.T) {
	m := api.FromLocal(local())
	if n := testing.AllocsPerRun(100, func() {
		if err := api.CheckLocal(m); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("CheckLocal: %v allocations", n)
	}
}
