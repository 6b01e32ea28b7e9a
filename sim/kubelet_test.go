package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// crammed returns pods that take memory in small steps, so that it runs short before it runs out,
// some of which declare their demand.
func crammed(seed uint64, n int) []sim.Pod {
	const gib = 1 << 30
	rng := rand.New(rand.NewPCG(seed, 5))
	pods := make([]sim.Pod, n)
	for i := range pods {
		p := sim.Pod{
			Created: 30 * rng.Float64(), Work: 2 + 5*rng.ExpFloat64(), Cores: .2, Startup: node.StartupLatency(rng),
			Memory: (.2 + 2*rng.Float64()) * gib, Ramp: 40, Workload: fmt.Sprint(i % 3),
		}
		if i%4 == 0 {
			p.Request = baseline.Resources{CPU: .2, Memory: p.Memory}
		}
		pods[i] = p
	}
	return pods
}

func gaveUp(r sim.Result) (pods int) {
	for _, record := range r.Records {
		if record.GaveUp {
			pods++
		}
	}
	return pods
}

// A pod that exceeds its node alone is killed until its Job gives up: it restarts at once and then
// after 10, 20, 40 and 80 s, each time within 0.3 s, and is killed while it runs.
func TestJobGivesUpAfterRestarts(t *testing.T) {
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Default{}, Seed: 1}, []sim.Pod{{Work: 5, Memory: 20 << 30}, {Work: 1}})
	got := r.Records[0]
	if !got.GaveUp || got.Kills != 6 || got.Evictions != 0 || got.Attempts != 1 || got.Done != -1 {
		t.Errorf("%+v, want 6 kills of one pod that gave up", got)
	}
	if want := 10 + 20 + 40 + 80 + 5*.3; r.End < want || r.End > want+.1 {
		t.Errorf("ends at %g s, want %g", r.End, want)
	}

	// Nothing of it remains while another continues.
	last := 0
	observed := counted{sim.Default{}, func(_ float64, pods []int) { last = len(pods) }}
	r = run(t, sim.Config{Nodes: 1, Scheduler: observed, Seed: 1}, []sim.Pod{{Work: 5, Memory: 20 << 30}, {Work: 900}})
	if got := r.Records[0]; got.Kills != 6 || got.Attempts != 1 || got.Node != -1 || got.Running != -1 {
		t.Errorf("beside another: %+v", got)
	}
	if last != 1 {
		t.Errorf("at the end %d pods are on the node, want one", last)
	}
}

// BestEffort pods stay off a node that is short of memory, under any scheduler, and those with
// requests do not; five minutes after the last eviction they may go there again.
func TestPressureKeepsBestEffortAway(t *testing.T) {
	for _, s := range all {
		t.Run(fmt.Sprintf("%T", s), func(t *testing.T) {
			// The system and both residents leave 50 MiB. The small one is evicted, which is
			// enough, and the other ends after 40 s.
			const small = 60 << 20
			pods := []sim.Pod{
				{On: 1, Work: .4, Cores: .01, Memory: .95*(16<<30) - 50<<20 - small, Request: baseline.Resources{CPU: .01, Memory: .95 * (16 << 30)}},
				{On: 1, Work: .5, Cores: .01, Memory: small},
			}
			for i := range 80 {
				p := sim.Pod{Created: 25 + 5*float64(i), Work: .1, Cores: .1}
				if i%8 == 7 {
					p.Request = baseline.Resources{CPU: .01}
				}
				pods = append(pods, p)
			}
			r := run(t, sim.Config{Nodes: 1, Scheduler: s, Seed: 1, Horizon: 500}, pods)
			if r.Records[0].Evictions != 0 || r.Records[1].Evictions != 1 {
				t.Fatalf("residents %+v, want the small one evicted", r.Records[:2])
			}
			declared, early, late := 0, 0, 0
			for i, record := range r.Records[2:] {
				switch bound := record.Bound; {
				case record.Evictions > 0:
					t.Errorf("pod %d: %+v, refused by the kubelet long after the taint", i, record)
				case bound < 0:
				case r.Pods[i+2].Request.CPU > 0:
					if bound < 300 {
						declared++
					}
				case bound < 290:
					early++
				default:
					late++
				}
			}
			if declared < 5 || early > 0 || late < 60 {
				t.Errorf("%d pods that declare something were bound under pressure, %d others, and %d after it", declared, early, late)
			}
		})
	}
}

// A kubelet refuses a BestEffort pod that the scheduler binds before it sees the taint, and
// the pod's Job makes another.
func TestKubeletRefusesBestEffort(t *testing.T) {
	resident := sim.Pod{On: 1, Work: 1e9, Cores: .01, Memory: .95*(16<<30) - 50<<20, Request: baseline.Resources{CPU: .01, Memory: 15 << 30}}
	pods := []sim.Pod{resident}
	for i := range 50 {
		pods = append(pods, sim.Pod{Created: .2 * float64(i), Work: .1})
	}
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Default{}, Seed: 1, Horizon: 100}, pods)
	refused := 0
	for _, record := range r.Records[1:] {
		if record.Evictions > 0 {
			refused++
			if record.Node >= 0 || record.Evictions > 1 {
				t.Errorf("%+v, want it to wait until the taint goes", record)
			}
		}
	}
	if refused == 0 || refused > 45 {
		t.Errorf("%d of 50 pods refused, want some", refused)
	}
}

// Every pod ends or is given up; kills and evictions are both seen, and requests are kept.
func TestCrammedConserved(t *testing.T) {
	kills, evictions := 0, 0
	for seed := range uint64(8) {
		for _, s := range []sim.Scheduler{sim.Default{}, sim.Spazio{}, counting(sim.Profiles{})} {
			r := run(t, sim.Config{Nodes: 3, Scheduler: s, Seed: seed}, crammed(seed, 120))
			work := 0.
			for i, record := range r.Records {
				kills, evictions = kills+record.Kills, evictions+record.Evictions
				if record.GaveUp == (record.Done >= 0) {
					t.Errorf("seed %d: pod %d: %+v", seed, i, record)
				}
				if !record.GaveUp {
					work += r.Pods[i].Work
				}
				if record.GaveUp && record.Kills < 6 && record.Evictions < 7 {
					t.Errorf("seed %d: pod %d gave up too soon: %+v", seed, i, record)
				}
			}
			if got := r.Done - r.Lost; got < work-1e-4 || got > work+1e-4 {
				t.Errorf("seed %d: %g core-seconds done and not lost, want %g", seed, got, work)
			}
		}
	}
	if kills == 0 || evictions == 0 {
		t.Errorf("%d kills, %d evictions", kills, evictions)
	}
}
