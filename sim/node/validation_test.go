package node_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// queue feeds jobs of mean size 1, exponential or of the given sizes, to a node
// as a Poisson process and returns their mean time on the node.
func queue(t *testing.T, cores int, load float64, jobs int, size func(*rand.Rand) float64) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, uint64(cores)))
	m := newModel(t, quiet(cores))
	arrived := make([]float64, jobs)
	var events []node.Transition
	now, sum, done := 0., 0., 0
	count := func() {
		for _, e := range events {
			if e.Phase == node.Succeeded {
				sum += e.At - arrived[e.Pod]
				done++
			}
		}
		events = events[:0]
	}
	for i := range jobs {
		now += rng.ExpFloat64() / (load * float64(cores))
		events = m.AdvanceTo(events, now)
		arrived[i] = now
		bind(t, m, node.Pod{ID: node.PodID(i), Work: size(rng)})
		count()
	}
	events = m.AdvanceTo(events, now+1e6)
	count()
	if done != jobs {
		t.Fatalf("%d of %d jobs ended", done, jobs)
	}
	return sum / float64(jobs)
}

// erlang returns the mean sojourn of M/M/c with mean service 1: processor
// sharing of c cores among single-threaded jobs is the same birth-death process.
func erlang(c int, load float64) float64 {
	a := load * float64(c)
	term, sum := 1., 0.
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	wait := term / (1 - load)
	wait /= sum + wait
	return 1 + wait/(float64(c)*(1-load))
}

// Closed forms: M/M/1-PS and M/G/1-PS (insensitive to the law of the sizes) have
// mean sojourn 1/(1−ρ), M/M/c-PS that of M/M/c.
func TestProcessorSharingClosedForms(t *testing.T) {
	exponential := func(rng *rand.Rand) float64 { return rng.ExpFloat64() }
	constant := func(*rand.Rand) float64 { return 1 }
	twoSizes := func(rng *rand.Rand) float64 { // mean 1, squared coefficient of variation 4
		if rng.Float64() < .1 {
			return rng.ExpFloat64() * 4.6
		}
		return rng.ExpFloat64() * .6
	}
	tests := []struct {
		name  string
		cores int
		load  float64
		size  func(*rand.Rand) float64
		want  float64
	}{
		{"M/M/1-PS", 1, .5, exponential, 2},
		{"M/D/1-PS", 1, .5, constant, 2},
		{"M/H2/1-PS", 1, .5, twoSizes, 2},
		{"M/M/4-PS at .5", 4, .5, exponential, erlang(4, .5)},
		{"M/M/4-PS at .8", 4, .8, exponential, erlang(4, .8)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := queue(t, test.cores, test.load, 400_000, test.size)
			t.Logf("mean sojourn %.4f, closed form %.4f", got, test.want)
			if math.Abs(got/test.want-1) > .02 {
				t.Errorf("mean sojourn %.4f, closed form %.4f", got, test.want)
			}
		})
	}
}

// A server alone on a node of c cores is M/M/c-PS too.
func TestServerClosedForm(t *testing.T) {
	m := newModel(t, quiet(4))
	bind(t, m, node.Pod{ID: 1, Server: node.Server{Rate: 320, Work: .01}})
	m.AdvanceTo(nil, 900)
	sum, times := 0., m.Responses(nil)
	for _, r := range times {
		sum += r
	}
	got, want := sum/float64(len(times)), erlang(4, .8)/100
	if math.Abs(got/want-1) > .02 {
		t.Errorf("mean response %.5f s of %d, closed form %.5f", got, len(times), want)
	}
	if !m.Kill(1) {
		t.Error("the server is gone")
	}
	m.AdvanceTo(nil, 901)
	if again := m.Responses(nil); len(again) != 0 {
		t.Errorf("%d responses of a killed server", len(again))
	}
}

// twin is the naive version of the model: every thread by itself, in tiny steps.
type twin struct {
	cores, memory, used float64
	pods                []twinPod
}

type twinPod struct {
	node.Pod
	left, end float64
}

// taken returns the memory that a running pod holds: a tenth more with each tenth of its ramp.
func (p *twinPod) taken(now float64) float64 {
	if p.Ramp == 0 {
		return p.Memory
	}
	return p.Memory * math.Min(1+math.Floor((now-p.Startup)/p.Ramp*10+1e-6), 10) / 10
}

func (w *twin) step(now, dt float64) {
	used := w.used
	active := make([]*twinPod, 0, len(w.pods))
	for i := range w.pods {
		if p := &w.pods[i]; p.Startup <= now && p.left > 0 {
			active = append(active, p)
			used += p.taken(now)
		}
	}
	rates := make([]float64, len(active))
	speed := 1.
	if used > w.memory {
		speed = .2
	}
	// Raise all rates together, each in proportion to its weight, until it is
	// satisfied or the cores are given away.
	room := w.cores
	for range 200 {
		weight := 0.
		for i, p := range active {
			if rates[i] < p.Cores {
				weight += p.Weight
			}
		}
		if weight == 0 || room < 1e-12 {
			break
		}
		level := room / weight
		for i, p := range active {
			if want := p.Cores; rates[i] < want {
				more := math.Min(level*p.Weight, want-rates[i])
				rates[i] += more
				room -= more
			}
		}
	}
	for i, p := range active {
		if p.left -= speed * rates[i] * dt; p.left <= 0 {
			p.end = now + dt
		}
	}
}

// The event-driven model equals the naive one in steps of a millisecond, within the rounding of a
// pod's ends and those of its neighbours.
func TestAgreesWithNaiveTwin(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			p := quiet(1 + rng.IntN(4))
			p.Memory, p.Overcommit = 1000, node.Swap
			m := newModel(t, p)
			w := twin{cores: float64(p.Cores), memory: 1000, used: 50}
			for i := range 1 + rng.IntN(12) {
				pod := node.Pod{
					ID: node.PodID(i), Work: .2 + 3*rng.Float64(), Cores: .1 + .9*rng.Float64(),
					Weight: float64(int(1) << rng.IntN(4)), Memory: 200 * rng.Float64(), Startup: math.Floor(3000*rng.Float64()) / 1000,
				}
				if i%3 == 0 {
					pod.Cores, pod.Work = 5*pod.Cores, 3*pod.Work
					pod.Threads = int(math.Ceil(pod.Cores)) + i%2
					pod.Ramp = math.Floor(20*rng.Float64()) / 10
				}
				bind(t, m, pod)
				w.pods = append(w.pods, twinPod{Pod: pod, left: pod.Work})
			}
			const dt = 1e-3
			for i := range 400_000 {
				w.step(float64(i)*dt, dt)
			}
			got := make([]float64, len(w.pods))
			for _, e := range m.AdvanceTo(nil, 1e4) {
				if e.Phase == node.Succeeded {
					got[e.Pod] = e.At
				}
			}
			for i, pod := range w.pods {
				if math.Abs(got[i]-pod.end) > .02 {
					t.Errorf("pod %d ends at %.4f, naively at %.4f", i, got[i], pod.end)
				}
			}
		})
	}
}
