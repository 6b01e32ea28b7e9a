package node_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// staged is a naive pod with stages, which advances in tiny steps.
type staged struct {
	node.Pod
	stage        int
	inStage      float64 // seconds
	left         float64 // core-seconds of the stage
	used, waited float64
	peak, end    float64
}

func (p *staged) enter(stage int) {
	p.stage, p.inStage = stage, 0
	if stage < len(p.Stages) {
		p.left = p.Stages[stage].Seconds * p.Stages[stage].Cores
	}
}

func (p *staged) held() float64 {
	s := p.Stages[p.stage]
	if s.Garbage == 0 {
		return s.Memory
	}
	sinceCollection := math.Mod(p.inStage+1e-9, s.Period)
	return s.Memory + s.Garbage*(math.Floor(sinceCollection/s.Period*10)+1)/10
}

// stagedStep advances all pods by dt on that many cores, shared by weight.
func stagedStep(pods []*staged, cores, now, dt float64) {
	rates := make([]float64, len(pods))
	for room := cores; room > 1e-12; {
		weight := 0.
		for i, p := range pods {
			if p.stage < len(p.Stages) && p.Startup <= now && rates[i] < p.Stages[p.stage].Cores {
				weight += p.Weight
			}
		}
		if weight == 0 {
			break
		}
		level := room / weight
		for i, p := range pods {
			if p.stage < len(p.Stages) && p.Startup <= now && rates[i] < p.Stages[p.stage].Cores {
				more := math.Min(level*p.Weight, p.Stages[p.stage].Cores-rates[i])
				rates[i] += more
				room -= more
			}
		}
	}
	for i, p := range pods {
		if p.stage == len(p.Stages) || p.Startup > now {
			continue
		}
		s := p.Stages[p.stage]
		p.peak = math.Max(p.peak, p.held())
		p.inStage += dt
		p.left -= rates[i] * dt
		p.used += rates[i] * dt
		if threads := math.Max(math.Ceil(s.Cores), float64(p.Threads)); s.Cores > 0 {
			p.waited += (s.Cores - rates[i]) / threads * dt
		}
		if s.Cores > 0 && p.left <= 1e-9 || s.Cores == 0 && p.inStage >= s.Seconds-1e-9 {
			if p.enter(p.stage + 1); p.stage == len(p.Stages) {
				p.end = now + dt
			}
		}
	}
}

// Pods of random stages end at the time of a simulation in steps of a millisecond, with the same
// usage on the way, however the time is cut.
func TestStagesAgainstSmallSteps(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 9))
			p := quiet(1 + rng.IntN(4))
			m := newModel(t, p)
			var pods []*staged
			for i := range 1 + rng.IntN(8) {
				pod := node.Pod{ID: node.PodID(i), Weight: float64(int(1) << rng.IntN(4)), Startup: float64(rng.IntN(2000)) / 1000}
				for range 1 + rng.IntN(4) {
					s := node.Stage{Seconds: float64(100+rng.IntN(2000)) / 1000, Memory: float64(rng.IntN(100))}
					if rng.IntN(3) > 0 {
						s.Cores = .1 + 2*rng.Float64()
					}
					if rng.IntN(2) == 0 {
						s.Garbage, s.Period = float64(rng.IntN(50)+1), float64(1+rng.IntN(5))/10
					}
					pod.Stages = append(pod.Stages, s)
				}
				if i%2 == 1 {
					pod.Threads = 3
				}
				bind(t, m, pod)
				twin := &staged{Pod: pod}
				twin.enter(0)
				pods = append(pods, twin)
			}
			const dt = 1e-3
			ends := make([]float64, len(pods))
			looked := .0005 + rng.Float64()
			for i := range 60_000 {
				now := float64(i) * dt
				stagedStep(pods, float64(p.Cores), now, dt)
				if now < looked {
					continue
				}
				looked += rng.ExpFloat64()
				for _, e := range m.AdvanceTo(nil, now+dt) {
					if e.Phase == node.Succeeded {
						ends[e.Pod] = e.At
					}
				}
				for _, p := range pods {
					u, ok := m.Usage(p.ID)
					if !ok || p.stage == len(p.Stages) {
						continue
					}
					want := node.Usage{CPU: p.used, Stalled: p.waited, Memory: u.Memory, Peak: u.Peak}
					if diff := cmp.Diff(want, u, cmpopts.EquateApprox(0, .02)); diff != "" {
						t.Fatalf("pod %d at %.3f s (-naive +got):\n%s", p.ID, now, diff)
					}
				}
			}
			for _, e := range m.AdvanceTo(nil, 100) {
				if e.Phase == node.Succeeded {
					ends[e.Pod] = e.At
					if u, ok := m.Usage(e.Pod); !ok || math.Abs(u.CPU-pods[e.Pod].used) > .02 || u.Peak != pods[e.Pod].peak {
						t.Errorf("pod %d has taken %+v, naively %g with a peak of %g", e.Pod, u, pods[e.Pod].used, pods[e.Pod].peak)
					}
				}
			}
			for i, p := range pods {
				if math.Abs(ends[i]-p.end) > .02 {
					t.Errorf("pod %d ends at %.4f, naively at %.4f", i, ends[i], p.end)
				}
			}
		})
	}
}

// The memory of a stage exists from its beginning, garbage grows in tenths and goes with each
// collection.
func TestStageMemory(t *testing.T) {
	m := newModel(t, quiet(2))
	bind(t, m, node.Pod{ID: 1, Stages: []node.Stage{
		{Seconds: 2, Cores: 1, Memory: 100},
		{Seconds: 3, Memory: 200, Garbage: 50, Period: 1},
		{Seconds: 1, Cores: .5, Memory: 30},
	}})
	for _, at := range []struct{ time, memory, peak float64 }{
		{1, 100, 100}, {2.05, 205, 205}, {2.55, 230, 230}, {2.95, 250, 250}, {3.05, 205, 250}, {4.99, 250, 250}, {5.5, 30, 250},
	} {
		m.AdvanceTo(nil, at.time)
		if u, ok := m.Usage(1); !ok || u.Memory != at.memory || u.Peak != at.peak {
			t.Errorf("at %g s: %+v, %v, want %g bytes and a peak of %g", at.time, u, ok, at.memory, at.peak)
		}
	}
	if done, _ := m.Progress(1); math.Abs(done-2.25) > 1e-6 {
		t.Errorf("%g core-seconds after 5.5 s, want 2.25", done)
	}
}

// A stage that takes too much memory has the pod killed, and it restarts with its first stage.
func TestStageKills(t *testing.T) {
	p := quiet(2)
	p.Memory, p.Overcommit = 1e12, node.Evict
	m := newModel(t, p)
	bind(t, m, node.Pod{ID: 1, Stages: []node.Stage{{Seconds: 2, Cores: 1, Memory: 1e10}, {Seconds: 5, Cores: 1, Memory: 9.9e11}}})
	kills := 0
	for _, e := range m.AdvanceTo(nil, 2.5) {
		if e.Phase == node.Restarting {
			kills++
			if math.Abs(e.At-2) > 1e-6 {
				t.Errorf("killed at %g s, its second stage begins at 2", e.At)
			}
		}
	}
	if lost := m.Totals().Lost; kills != 1 || math.Abs(lost-2) > 1e-6 {
		t.Errorf("%d kills, which lost %g core-seconds", kills, lost)
	}
	if done, ok := m.Progress(1); !ok || done >= 1 {
		t.Errorf("half a second later it has done %g, %v", done, ok)
	}
}

func TestStagesRefused(t *testing.T) {
	m := newModel(t, node.Params{})
	stage := node.Stage{Seconds: 1, Cores: 1}
	for name, pod := range map[string]node.Pod{
		"no seconds":           {Stages: []node.Stage{{Cores: 1}}},
		"no number":            {Stages: []node.Stage{{Seconds: 1, Memory: math.NaN()}}},
		"garbage for ever":     {Stages: []node.Stage{{Seconds: 1, Garbage: 1}}},
		"a period of nothing":  {Stages: []node.Stage{{Seconds: 1, Period: 1}}},
		"more than its thread": {Threads: 1, Stages: []node.Stage{{Seconds: 1, Cores: 2}}},
		"work besides":         {Work: 1, Stages: []node.Stage{stage}},
		"memory besides":       {Memory: 1, Stages: []node.Stage{stage}},
		"a server":             {Server: node.Server{Work: 1}, Stages: []node.Stage{stage}},
	} {
		if err := m.Bind(0, pod); !errors.Is(err, node.ErrBadPod) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A server answers requests at the rate that was set last, and its CPU time is theirs.
func TestSetRate(t *testing.T) {
	m := newModel(t, quiet(4))
	bind(t, m, node.Pod{ID: 1, Server: node.Server{Work: .01}})
	count := func(until float64) int { m.AdvanceTo(nil, until); return len(m.Responses(nil)) }
	if n := count(100); n != 0 {
		t.Errorf("%d requests without a rate", n)
	}
	for _, rate := range []float64{50, 10, 0} {
		if err := m.SetRate(1, rate); err != nil {
			t.Fatal(err)
		}
		n, want := float64(count(m.Now()+1000)), rate*1000
		if math.Abs(n-want) > 5*math.Sqrt(want)+1 {
			t.Errorf("%g requests in 1000 s at a rate of %g", n, rate)
		}
	}
	if u, ok := m.Usage(1); !ok || math.Abs(u.CPU/600-1) > .02 || u.Stalled > .5 {
		t.Errorf("60,000 requests of 10 ms took %+v, %v", u, ok)
	}
	for name, err := range map[string]error{"nobody": m.SetRate(2, 1), "less than none": m.SetRate(1, -1)} {
		if !errors.Is(err, node.ErrBadPod) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// However its rate changes, a server's requests are the same ones, after one another as often as they are
// expected; what is not answered when it is killed has failed.
func TestRequestsAreTheSameAtAnyRate(t *testing.T) {
	served := func(rates ...float64) (times []float64) {
		m := newModel(t, quiet(64))
		bind(t, m, node.Pod{ID: 1, Seed: 7, Server: node.Server{Work: .001}})
		for _, rate := range rates {
			if err := m.SetRate(1, rate); err != nil {
				t.Fatal(err)
			}
			m.AdvanceTo(nil, m.Now()+100)
		}
		return m.Responses(nil)
	}
	if diff := cmp.Diff(served(1, 0, 3), served(2, 2), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("four hundred expected (-want +got):\n%s", diff)
	}
	m := newModel(t, quiet(4))
	bind(t, m, node.Pod{ID: 1, Server: node.Server{Rate: 1, Work: 1e6}})
	m.AdvanceTo(nil, 100)
	open := m.Requests(1)
	if m.Kill(1); open < 50 || m.Totals().Failed != open || m.Requests(1) != 0 {
		t.Errorf("%d requests were open, %d failed", open, m.Totals().Failed)
	}
}
