package sim_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// fewest is a scheduler from outside the package: at most that many pods a node, on the node with
// fewest, and it records its calls.
type fewest struct {
	most  int
	notes *notes
}

type notes struct {
	bound, ended, ticks []float64
	usage               []sim.Usage
	declared            sim.Declared
}

type fewestPolicy struct {
	*sim.Cluster
	fewest
	pods map[int]int
}

func (f fewest) Start(c *sim.Cluster) (sim.Policy, error) {
	if f.most < 0 {
		return nil, errors.New("most is negative")
	}
	p := &fewestPolicy{c, f, map[int]int{}}
	c.Every(2, 1, func() {
		f.notes.ticks = append(f.notes.ticks, c.Now())
		f.notes.usage = append(f.notes.usage, c.Usage(0))
	})
	return p, nil
}

func (p *fewestPolicy) EveryNode() bool { return true }

func (p *fewestPolicy) Admits(node, pod int) bool {
	p.notes.declared = p.Pod(pod)
	return p.pods[node] < p.most
}

func (p *fewestPolicy) Score(scores []float64, nodes []int, _ int) {
	for i, n := range nodes {
		scores[i] = -float64(p.pods[n])
	}
}

func (p *fewestPolicy) Bound(node, _ int) {
	p.pods[node]++
	p.notes.bound = append(p.notes.bound, p.Now())
}

func (p *fewestPolicy) Ended(node, _ int) {
	p.pods[node]--
	p.notes.ended = append(p.notes.ended, p.Now())
}

// Any scheduler can be simulated: it filters, scores, is called at binds and ends, and measures.
func TestSchedulerOfAnotherPackage(t *testing.T) {
	pods := slicesOf(12, sim.Pod{Work: 4, Request: baseline.Resources{CPU: .1}})
	var n notes
	r := run(t, sim.Config{Nodes: 3, Scheduler: fewest{2, &n}, Seed: 1}, pods)
	if r.Most != 2 {
		t.Errorf("%d pods at once on a node, want 2", r.Most)
	}
	if len(n.bound) != 12 || len(n.ended) < 11 || !slices.IsSorted(n.bound) || n.bound[5] > 1 || n.bound[6] < 4 {
		t.Errorf("bound at %v, ended at %v; want six at once and six as those end", n.bound, n.ended)
	}
	if len(n.ticks) < 5 || n.ticks[0] != -4 || n.ticks[1] != -2 { // 1 and 3 s from the start of the warm-up
		t.Errorf("called at %v", n.ticks)
	}
	last := n.usage[len(n.usage)-1]
	if first := n.usage[0]; first.CoreSeconds > .2 || last.CoreSeconds < 10 || last.ByteSeconds <= first.ByteSeconds || last.Memory <= 0 {
		t.Errorf("usage of the first node from %+v to %+v, want about 16 core-seconds", first, last)
	}
	if diff := cmp.Diff(sim.Declared{Request: baseline.Resources{CPU: .1}}, n.declared); diff != "" {
		t.Errorf("a pod's declaration (-want +got):\n%s", diff)
	}
	if _, err := sim.Run(t.Context(), sim.Config{Scheduler: fewest{-1, &n}}, pods); err == nil {
		t.Error("an error of Start is lost")
	}
}

// viewer looks at the cluster when pods come.
type viewer struct{ seen *[]view }

type view struct {
	Capacity, Allocatable, Requested baseline.Resources
	Pods                             []int
	Default                          float64
}

func (v viewer) Start(c *sim.Cluster) (sim.Policy, error) { return viewerPolicy{c, v}, nil }

type viewerPolicy struct {
	*sim.Cluster
	viewer
}

func (p viewerPolicy) Admits(int, int) bool { return true }

func (p viewerPolicy) Score(scores []float64, nodes []int, pod int) {
	clear(scores)
	*p.seen = append(*p.seen, view{
		p.Capacity(0), p.Allocatable(0), p.Requested(0), p.PodsTo(nil, 0), p.DefaultScore(0, pod),
	})
}

func TestClusterShowsItsBooks(t *testing.T) {
	const gi = 1 << 30
	var got []view
	pods := slicesOf(2, sim.Pod{Work: 9, Request: baseline.Resources{CPU: 2, Memory: 4 * gi}})
	none := baseline.Resources{}
	run(t, sim.Config{Nodes: 1, Reserved: &none, Scheduler: viewer{&got}, Seed: 1}, pods)
	machine := baseline.Resources{CPU: 4, Memory: 16 * gi}
	want := []view{
		// (50 + 75)/2 and, of shares .5 and .25 after 0 and 0, 50 + (50 + 87 − 100)/2.
		{machine, machine, none, nil, 62 + 68},
		// (0 + 50)/2 and, of 1 and .5 after .5 and .25, 50 + (50 + 75 − 87)/2.
		{machine, machine, baseline.Resources{CPU: 2, Memory: 4 * gi}, []int{0}, 25 + 69},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// stubborn refuses all pods until a time and then wakes them.
type stubborn struct{ until float64 }

type stubbornPolicy struct {
	*sim.Cluster
	stubborn
}

func (s stubborn) Start(c *sim.Cluster) (sim.Policy, error) {
	c.Every(math.MaxFloat64, s.until, c.Wake)
	return stubbornPolicy{c, s}, nil
}

func (p stubbornPolicy) Admits(int, int) bool              { return p.Now() >= p.until-5 }
func (p stubbornPolicy) Score(s []float64, _ []int, _ int) { clear(s) }

// Unless another pod ends, only Wake has a refused pod retried soon.
func TestWake(t *testing.T) {
	r := run(t, sim.Config{Nodes: 1, Scheduler: stubborn{12}}, slicesOf(3, sim.Pod{Work: 1}))
	for i, record := range r.Records {
		if record.Bound < 7 || record.Bound > 7.1 {
			t.Errorf("pod %d was bound at %g s, want 7", i, record.Bound)
		}
	}
}

// A seed's random numbers are the same in every run, and differ for another stream.
func TestRand(t *testing.T) {
	draws := map[uint64][]float64{}
	for range 2 {
		for _, stream := range []uint64{0, 1} {
			drawn := &drawer{stream: stream}
			run(t, sim.Config{Nodes: 1, Scheduler: drawn, Seed: 3}, slicesOf(1, sim.Pod{Work: 1}))
			if before, ok := draws[stream]; ok && !cmp.Equal(before, drawn.drawn) {
				t.Errorf("stream %d: %v, before %v", stream, drawn.drawn, before)
			}
			draws[stream] = drawn.drawn
		}
	}
	if cmp.Equal(draws[0], draws[1]) {
		t.Error("two streams are one")
	}
}

type drawer struct {
	stream uint64
	drawn  []float64
}

func (d *drawer) Start(c *sim.Cluster) (sim.Policy, error) {
	rng := c.Rand(d.stream)
	d.drawn = []float64{rng.Float64(), rng.Float64()}
	return sim.Coin{}.Start(c)
}

type nobody struct{}

func (nobody) Start(*sim.Cluster) (sim.Policy, error) { return nil, nil }

func TestNoPolicy(t *testing.T) {
	var name *field.Error
	if _, err := sim.Run(t.Context(), sim.Config{Scheduler: nobody{}}, nil); !errors.As(err, &name) || name.Field != "Scheduler" {
		t.Errorf("error %v", err)
	}
}
