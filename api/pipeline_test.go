package api_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/reserve"
)

// TestPipelineReportsAreAccepted runs the real pipeline through idle, erratic and full load and
// converts everything it sends: the bounds must never reject a sound node.
func TestPipelineReportsAreAccepted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, cores := range []float64{.5, 4, 1024} {
		p, err := agent.New(agent.Config{
			Node: "n", Incarnation: 1, Schema: "s", Cores: cores,
			Channels: []agent.Channel{{Name: agent.CPU, Size: cores}, {Name: "memory", Size: cores * (4 << 30)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		at, reports := time.Unix(1e9, 0).UTC(), 0
		say := func(r agent.Report, ok bool, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return
			}
			reports++
			got, err := api.ToReport(wire(t, api.FromReport(r), &spaziov1.Report{}))
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			r.SampledAt = r.SampledAt.UTC()
			if len(r.Pods) == 0 {
				r.Pods = nil
			}
			if diff := cmp.Diff(r, got); diff != "" {
				t.Fatalf("(-sent +received):\n%s", diff)
			}
		}
		for step := range 20_000 {
			at = at.Add(100 * time.Millisecond)
			if step%17 == 0 {
				say(p.Pods(at, agent.RunningPods(make([]reserve.PodKey, rng.IntN(200))...)))
			}
			var y []float64
			switch step / 1000 % 4 {
			case 0:
				y = []float64{0, 0}
			case 1:
				y = []float64{rng.Float64(), rng.Float64()}
			case 2:
				y = []float64{1, 1}
			case 3:
				y = []float64{float64(rng.IntN(2)), 1e-300}
			}
			say(p.Sample(at, y))
			l, ok := p.Local()
			if !ok || step%10 != 9 {
				continue
			}
			got, err := api.ToLocal(wire(t, api.FromLocal(l), &spaziov1.LocalModel{}))
			if err != nil {
				t.Fatalf("%+v: %v", l, err)
			}
			for i, c := range l.Costs {
				if !c.Known {
					l.Costs[i] = agent.Cost{}
				}
			}
			if diff := cmp.Diff(l, got); diff != "" {
				t.Fatalf("(-sent +received):\n%s", diff)
			}
		}
		if reports < 2000 {
			t.Errorf("got %d reports of the pipeline", reports)
		}
	}
}
