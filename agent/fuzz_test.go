package agent_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// script turns bytes into valid and invalid inputs of a pipeline.
type script struct {
	p    *agent.Pipeline
	at   time.Time
	pods []agent.Pod
}

// next makes an input of three bytes and passes it to the pipeline.
func (s *script) next(a, b, c byte) (agent.Report, bool, error) {
	s.at = s.at.Add(time.Duration(a/8) * 10 * time.Millisecond)
	if a > 250 {
		s.at = s.at.Add(time.Duration(b) * time.Second)
	}
	key := reserve.PodKey(b % 8)
	switch a % 8 {
	case 0:
		if c < 50 {
			return agent.Report{}, false, s.power(b, c)
		}
		if c > 240 {
			var placeholders []reserve.PodKey
			for key := range reserve.PodKey(8) {
				if b>>key&1 != 0 {
					placeholders = append(placeholders, key)
				}
			}
			return s.p.Placeholders(s.at, placeholders)
		}
		s.p.Churn(s.at)
		if c > 100 {
			s.p.Usage(s.at, []agent.PodReading{{
				Pod: key, Age: time.Duration(b) * time.Second / 8, AgeUnknown: b > 200, Ended: c > 240, Pressure: c%2 > 0,
				CPU: time.Duration(c) * time.Second / 16, Stalled: time.Duration(b) * time.Second / 16, Memory: uint64(c) << 26,
			}})
		}
	case 1:
		known := profile.Demand{}
		if c > 128 {
			known.CPU = profile.Share{Amount: float64(c-128) / 16, SD: float64(b%4) / 4, Confidence: float64(c%9) / 8}
			known.Memory = profile.Share{Amount: float64(b) * 1e8, SD: float64(b%4) * 1e9, Confidence: float64(b%9) / 8}
		}
		s.p.Bound(s.at, agent.Bind{Pod: key, Inits: int(c%4) - 1, InitsKnown: c&16 != 0, Demand: known})
	case 2:
		sizes := []float64{float64(1 + b%64), float64(c) * 1e8}
		return agent.Report{}, false, s.p.Resize(sizes)
	case 3, 4:
		pods := slices.DeleteFunc(slices.Clone(s.pods), func(p agent.Pod) bool { return p.Key == key })
		if c > 40 {
			pods = append(pods, agent.Pod{Key: key, State: agent.PodState(c % 4), Starts: int(c%8) - 1})
		}
		r, ok, err := s.p.Pods(s.at, pods)
		if err == nil {
			s.pods = pods
		}
		return r, ok, err
	default:
		return s.p.Sample(s.at, []float64{float64(b) / 250, float64(c) / 250})
	}
	return agent.Report{}, false, nil
}

// power passes a valid or invalid power.
func (s *script) power(b, c byte) error {
	if c < 10 {
		return s.p.PodPower(s.at, []agent.PodPower{{Pod: 3, Cores: float32(c), Watts: float32(b)}, {Pod: reserve.PodKey(b % 8), Cores: 1}})
	}
	return s.p.Power(s.at, energy.Power{
		Quality: energy.Quality(b % 6), Watts: float64(b) * 10, Max: 2000, Idle: float64(c), Marginal: float64(c) - 12, Busy: float64(b % 16), Cores: 8,
	})
}

// FuzzPipeline passes arbitrary inputs to a pipeline and checks that its reports are consistent.
// Halfway a second pipeline continues from the stored state and must report the same.
func FuzzPipeline(f *testing.F) {
	f.Add([]byte{5, 10, 200, 3, 255, 60, 0, 1, 90, 85, 20, 20, 85, 20, 20, 2, 15, 90, 85, 240, 20})
	f.Add([]byte{5, 10, 200, 3, 255, 60, 0, 8, 40, 0, 3, 5, 85, 20, 20, 3, 4, 90, 85, 20, 20, 0, 9, 60, 85, 20, 20, 0, 4, 30, 85, 90, 20})
	f.Add([]byte{3, 1, 49, 3, 2, 49, 85, 50, 10, 85, 50, 10, 0, 2, 255, 85, 50, 10, 3, 2, 0, 0, 0, 255, 85, 50, 10, 3, 2, 49, 85, 50, 10})
	f.Add([]byte{3, 1, 49, 85, 250, 10, 85, 250, 10, 85, 250, 10, 85, 250, 10, 85, 250, 10, 85, 250, 10, 3, 1, 0, 251, 9, 9})
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := agent.New(config())
		if err != nil {
			t.Fatal(err)
		}
		one := &script{p: p, at: start}
		var two *script
		sequence, sampled := uint64(0), time.Time{}
		for i := 0; i+2 < len(in); i += 3 {
			if two == nil && i >= len(in)/2 {
				two = &script{p: restored(t, one.p), at: one.at, pods: slices.Clone(one.pods)}
			}
			before := marshal(t, one.p.State())
			r, ok, err := one.next(in[i], in[i+1], in[i+2])
			if err != nil && marshal(t, one.p.State()) != before {
				t.Fatalf("error %v, but the state changed", err)
			}
			if err == nil && in[i]%8 >= 5 {
				sampled = one.at
			}
			if two != nil {
				second, alsoOK, alsoErr := two.next(in[i], in[i+1], in[i+2])
				if ok != alsoOK || (err == nil) != (alsoErr == nil) || ok && cmp.Diff(r, second) != "" {
					t.Fatalf("restored pipeline: got %+v, %v, want %+v, %v", second, alsoErr, r, err)
				}
			}
			if !ok || err != nil {
				continue
			}
			sequence++
			w, _ := one.p.Why()
			check(t, &r, &w, one)
			if r.Sequence != sequence || !r.SampledAt.Equal(sampled) {
				t.Fatalf("report %d of %v, want %d of %v", r.Sequence, r.SampledAt, sequence, sampled)
			}
		}
	})
}

// check fails the test unless a report is consistent in itself.
func check(t *testing.T, r *agent.Report, w *agent.Why, s *script) {
	t.Helper()
	n := float64(len(r.Pods))
	listed := func(k reserve.PodKey) bool {
		return slices.ContainsFunc(s.pods, func(p agent.Pod) bool { return p.Key == k })
	}
	switch {
	case !(r.Avail >= -n && r.Avail <= 2e9), !(r.Allowance >= 0 && r.Allowance <= 1e9):
		t.Fatalf("avail %v, allowance %v at %v pods", r.Avail, r.Allowance, n)
	case r.Saturated && (r.Avail > 0 || r.Allowance > 0):
		t.Fatalf("saturated: got avail %v, allowance %v", r.Avail, r.Allowance)
	case !(r.K >= 0 && r.K <= 100):
		t.Fatalf("k = %v", r.K)
	case w.Pods != len(r.Pods) || w.Held < 0 || w.Held > w.Pods || w.Measured < 0 || w.Measured > 8:
		t.Fatalf("n = %d, n₀ = %d, %d held, %d absorbed", w.Pods, w.Measured, w.Held, len(r.Pods))
	case !slices.IsSorted(r.Pods) || len(slices.Compact(slices.Clone(r.Pods))) != len(r.Pods):
		t.Fatalf("absorbed %v", r.Pods)
	case r.Power.Validate() != nil || len(r.PodCores) != len(r.PodWatts) || len(r.PodCores) != 0 && len(r.PodCores) != len(r.Pods):
		t.Fatalf("power %+v, %v cores, %v W", r.Power, r.PodCores, r.PodWatts)
	case s.at.Sub(r.SampledAt) > agent.DefaultMaxAge:
		t.Fatalf("got a report of a sample %v old", s.at.Sub(r.SampledAt))
	}
	for _, k := range r.Pods {
		if !listed(k) || s.p.Placeholder(k) {
			t.Fatalf("counted pod %v, which is absent or a placeholder", k)
		}
	}
	for _, c := range r.Channels {
		if !(c.Cost > 0) || !(c.CostSD >= 0) || !(c.Capacity >= 0) || !(c.Usage >= 0 && c.Usage <= 1) || math.IsInf(c.Cost+c.CostSD+c.Capacity, 0) {
			t.Fatalf("channel %+v", c)
		}
		if !(c.Unit > 0) || !(c.StartupAllowance >= 0) || !(c.Most >= 0 && c.Most <= c.Capacity) || !(c.Room >= -1e6 && c.Room <= 1e6) {
			t.Fatalf("channel %+v", c)
		}
	}
}

func marshal(t *testing.T, s agent.State) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// restored stores a pipeline's state and returns a pipeline that continues from it.
func restored(t *testing.T, p *agent.Pipeline) *agent.Pipeline {
	t.Helper()
	var s agent.State
	if err := json.Unmarshal([]byte(marshal(t, p.State())), &s); err != nil {
		t.Fatal(err)
	}
	q, err := agent.FromState(p.Config(), s)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
