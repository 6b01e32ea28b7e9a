package relief_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/relief"
	"github.com/spazio-scheduler/spazio/reserve"
)

var start = time.Unix(1_000_000, 0)

const step = 10 * time.Second

// cluster is a planner with two nodes, one that is too full and one that is idle, as of a time.
type cluster struct {
	t       *testing.T
	planner *relief.Planner
	now     time.Time
	nodes   []relief.Node
}

func newCluster(t *testing.T, change func(*relief.Options)) *cluster {
	t.Helper()
	options := relief.DefaultOptions()
	if change != nil {
		change(&options)
	}
	planner, err := relief.NewPlanner(options)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t, planner, start, []relief.Node{full("full", -1, pod(1), pod(2)), idle("idle")}}
}

func full(name string, room float64, pods ...relief.Pod) relief.Node {
	return relief.Node{Name: name, IsMeasured: true, Signal: reserve.Signal{Avail: room, Pods: 4, Cores: 4}, TasksWait: true, Pods: pods}
}

func idle(name string) relief.Node {
	return relief.Node{Name: name, IsMeasured: true, Signal: reserve.Signal{Avail: 8, Cores: 8}}
}

// pod is one that has run for an hour.
func pod(key int) relief.Pod {
	return relief.Pod{
		Key: reserve.PodKey(key), Owner: fmt.Sprint("owner-", key), Created: start.Add(-time.Hour), Running: start.Add(-time.Hour),
		Evictable: true, Demand: reserve.TypicalPod(),
	}
}

// pass plans every ten seconds for so long, carries out what is planned, and returns the last decision of
// each node.
func (c *cluster) pass(span time.Duration) []relief.Decision {
	var last []relief.Decision
	for end := c.now.Add(span); !c.now.After(end); c.now = c.now.Add(step) {
		last = c.plan()
		for _, d := range last {
			if d.Reason == relief.Evict {
				c.planner.Evicted(c.now, d)
			}
		}
	}
	c.now = c.now.Add(-step)
	return last
}

func (c *cluster) plan() []relief.Decision { return c.planner.Plan(c.now, c.nodes, nil) }

// until returns the time from the start to the first decision of a reason for the first node, which
// is then not carried out.
func (c *cluster) until(want relief.Reason) time.Duration {
	c.t.Helper()
	for range 1000 {
		if got := c.plan()[0].Reason; got == want {
			return c.now.Sub(start)
		}
		c.now = c.now.Add(step)
	}
	c.t.Fatalf("never %v", want)
	return 0
}

// A node is relieved when it has been too full for three minutes, and not before.
func TestPlanWaits(t *testing.T) {
	c := newCluster(t, nil)
	if got := c.until(relief.Evict); got != 3*time.Minute {
		t.Errorf("after %v, want 3m", got)
	}
	d := c.plan()[0] // not carried out: it comes again
	want := relief.Decision{
		Node: "full", Reason: relief.Evict, Room: -1, Since: start, Pod: pod(1), Target: "idle",
		Pods: []relief.PodDecision{{Key: 1, Reason: relief.Evict}, {Key: 2, Reason: relief.NotNeeded}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}

// What becomes of the full node after ten minutes if one thing is different.
func TestPlanReasons(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(c *cluster)
		want   relief.Reason
		pod    relief.Reason // of its first pod, where pods are looked at
	}{
		{"as it is", func(*cluster) {}, relief.Evict, relief.Evict},
		{"unmeasured", func(c *cluster) { c.nodes[0].IsMeasured = false }, relief.Unmeasured, 0},
		{"room within the tolerance", func(c *cluster) { c.nodes[0].Signal.Avail = -.5 }, relief.HasRoom, 0},
		{"room not a number", func(c *cluster) { c.nodes[0].Signal.Avail = math.NaN() }, relief.HasRoom, 0},
		{"a full channel", func(c *cluster) { c.nodes[0].Signal.Avail, c.nodes[0].Signal.Saturated = 0, true }, relief.Evict, relief.Evict},
		{"pods in flight alone", func(c *cluster) {
			c.nodes[0].Signal.Avail = 0
			c.nodes[0].Flight = reserve.Flight{Demand: 5}
		}, relief.HasRoom, 0},
		{"no task waits", func(c *cluster) { c.nodes[0].TasksWait = false }, relief.NoContention, 0},
		{"memory under pressure", func(c *cluster) { c.nodes[0].TasksWait, c.nodes[0].MemoryPressure = false, true }, relief.Evict, relief.Evict},
		{"not evictable", func(c *cluster) {
			c.nodes[0].Pods = []relief.Pod{with(pod(1), func(p *relief.Pod) { p.Evictable = false })}
		}, relief.NoSet, relief.NotEvictable},
		{"not running", func(c *cluster) {
			c.nodes[0].Pods = []relief.Pod{with(pod(1), func(p *relief.Pod) { p.Running = time.Time{} })}
		}, relief.NoSet, relief.TooYoung},
		{"young", func(c *cluster) {
			c.nodes[0].Pods = []relief.Pod{with(pod(1), func(p *relief.Pod) { p.Running = start.Add(5*time.Minute + step) })}
		}, relief.NoSet, relief.TooYoung},
		{"demand not valid", func(c *cluster) {
			c.nodes[0].Pods = []relief.Pod{with(pod(1), func(p *relief.Pod) { p.Demand = reserve.Demand{} })}
		}, relief.NoSet, relief.UnknownDemand},
		{"no other room", func(c *cluster) { c.nodes[1].Signal.Avail = .9 }, relief.NoSet, relief.NoTarget},
		{"other room in flight", func(c *cluster) { c.nodes[1].Flight = reserve.Flight{Demand: 7.5} }, relief.NoSet, relief.NoTarget},
		{"the other unmeasured", func(c *cluster) { c.nodes[1].IsMeasured = false }, relief.NoSet, relief.NoTarget},
		{"too few pods", func(c *cluster) { c.nodes[0].Signal.Avail = -2.1 }, relief.NoSet, relief.NotNeeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, nil)
			tt.change(c)
			c.planner.Plan(c.now, c.nodes, nil)
			var d relief.Decision
			for range 60 {
				c.now = c.now.Add(step)
				d = c.plan()[0]
			}
			if d.Reason != tt.want {
				t.Fatalf("%v, want %v", d.Reason, tt.want)
			}
			if len(d.Pods) > 0 && d.Pods[0].Reason != tt.pod {
				t.Errorf("pod: %v, want %v", d.Pods[0].Reason, tt.pod)
			}
		})
	}
}

func with(p relief.Pod, change func(*relief.Pod)) relief.Pod {
	change(&p)
	return p
}

// A single report with room, one that is stale, and a planner that was not asked for long each begin the
// three minutes anew.
func TestPlanBreaks(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   func(c *cluster)
	}{
		{"room", func(c *cluster) {
			c.nodes[0].Signal.Avail = 0
			c.plan()
			c.nodes[0].Signal.Avail = -1
		}},
		{"stale", func(c *cluster) {
			c.nodes[0].IsMeasured = false
			c.plan()
			c.nodes[0].IsMeasured = true
		}},
		{"gap", func(c *cluster) { c.now = c.now.Add(time.Minute) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, nil)
			c.pass(2 * time.Minute)
			tt.at(c)
			c.now = c.now.Add(step)
			again := c.now.Sub(start)
			if got := c.until(relief.Evict); got != again+3*time.Minute {
				t.Errorf("after %v, want %v", got, again+3*time.Minute)
			}
		})
	}
}

// Tasks that waited at some time in the last three minutes count, earlier ones do not.
func TestPlanContention(t *testing.T) {
	c := newCluster(t, nil)
	c.plan()
	c.nodes[0].TasksWait = false
	if got := c.until(relief.Evict); got != 3*time.Minute {
		t.Errorf("after %v", got)
	}
	c.now = c.now.Add(step)
	if got := c.plan()[0].Reason; got != relief.NoContention {
		t.Errorf("%v ten seconds later", got)
	}
}

// A node loses three pods, one a minute, and is then left alone for an hour.
func TestPlanLimits(t *testing.T) {
	c := newCluster(t, nil)
	c.nodes[0].Pods = []relief.Pod{pod(1), pod(2), pod(3), pod(4), pod(5)}
	var evicted []string
	var alone relief.Decision
	for range 60 {
		switch d := c.plan()[0]; d.Reason {
		case relief.Evict:
			evicted = append(evicted, fmt.Sprint(c.now.Sub(start), " ", d.Pod.Key))
			c.planner.Evicted(c.now, d)
			c.nodes[0].Pods = slices.DeleteFunc(c.nodes[0].Pods, func(p relief.Pod) bool { return p.Key == d.Pod.Key })
		case relief.LeftAlone:
			alone = d
		}
		c.now = c.now.Add(step)
	}
	if diff := cmp.Diff([]string{"3m0s 1", "4m0s 2", "5m0s 3"}, evicted); diff != "" {
		t.Error(diff)
	}
	if want := start.Add(6*time.Minute + time.Hour); !alone.Until.Equal(want) {
		t.Errorf("left alone until %v, want %v", alone.Until, want)
	}
	for range 400 {
		if c.now = c.now.Add(step); c.plan()[0].Reason == relief.Evict {
			break
		}
	}
	if !c.now.Equal(alone.Until) {
		t.Errorf("next at %v, want %v", c.now, alone.Until)
	}
}

// The cluster loses no more than MaxPerCycle pods in an interval, and the evictions of nodes that were
// not carried out count for nothing.
func TestPlanClusterLimit(t *testing.T) {
	c := newCluster(t, func(o *relief.Options) { o.MaxPerCycle = 2 })
	c.nodes = []relief.Node{full("a", -1, pod(1)), full("b", -1, pod(2)), full("c", -1, pod(3)), idle("idle")}
	c.until(relief.Evict)
	reasons := func() (r []relief.Reason) {
		for _, d := range c.plan()[:3] {
			r = append(r, d.Reason)
		}
		return r
	}
	want := []relief.Reason{relief.Evict, relief.Evict, relief.ClusterLimit}
	if diff := cmp.Diff(want, reasons()); diff != "" {
		t.Error(diff)
	}
	decisions := c.plan()
	c.planner.Evicted(c.now, decisions[0])
	c.planner.Evicted(c.now, decisions[1])
	c.nodes[0].Pods, c.nodes[1].Pods = []relief.Pod{pod(4)}, []relief.Pod{pod(5)}
	c.now = c.now.Add(50 * time.Second)
	if diff := cmp.Diff([]relief.Reason{relief.Paused, relief.Paused, relief.ClusterLimit}, reasons()); diff != "" {
		t.Error(diff)
	}
	c.now = c.now.Add(step)
	want = []relief.Reason{relief.Evict, relief.ClusterLimit, relief.Evict} // that which lost none comes first
	if diff := cmp.Diff(want, reasons()); diff != "" {
		t.Error(diff)
	}
}

// Room is reserved for the replacement of an evicted pod until it appears, or for two minutes, in one plan
// and between plans.
func TestPlanReserves(t *testing.T) {
	nodes := func() []relief.Node {
		n := []relief.Node{full("a", -1, pod(1)), full("b", -1, pod(2)), idle("idle")}
		n[2].Signal.Avail = 1.5 // room for one
		return n
	}
	for _, tt := range []struct {
		name    string
		appears time.Duration
		want    time.Duration // from the first eviction to the second
	}{
		{"never", 0, 2 * time.Minute},
		{"after 40 s", 40 * time.Second, 40 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, nil)
			c.nodes = nodes()
			c.until(relief.Evict)
			d := c.plan()
			if d[1].Reason != relief.NoSet || d[1].Pods[0].Reason != relief.NoTarget {
				t.Fatalf("the same room twice: %v", d[1])
			}
			c.planner.Evicted(c.now, d[0])
			c.nodes[0] = idle("a")
			c.nodes[0].Signal.Avail = 0 // so that it is no target
			since := c.now
			for c.plan()[1].Reason != relief.Evict {
				if c.now = c.now.Add(step); tt.appears > 0 && c.now.Sub(since) >= tt.appears {
					replacement := with(pod(9), func(p *relief.Pod) { p.Owner, p.Created = "owner-1", since.Add(step) })
					c.nodes[2].Pods = []relief.Pod{replacement}
				}
				if c.now.Sub(since) > time.Hour {
					t.Fatal("never")
				}
			}
			if got := c.now.Sub(since); got != tt.want {
				t.Errorf("after %v, want %v", got, tt.want)
			}
		})
	}
}

// The replacement of an evicted pod stays where it is for ten minutes.
func TestPlanDoesNotMoveTwice(t *testing.T) {
	c := newCluster(t, nil)
	c.until(relief.Evict)
	d := c.plan()[0]
	c.planner.Evicted(c.now, d)
	evicted := c.now
	replacement := with(pod(9), func(p *relief.Pod) { p.Owner, p.Created, p.Running = d.Pod.Owner, evicted.Add(step), evicted.Add(step) })
	c.nodes = []relief.Node{full("full", -1, replacement), idle("idle")}
	c.now = c.now.Add(step)
	c.until(relief.Evict)
	if got := c.now.Sub(evicted); got != 10*time.Minute {
		t.Errorf("again after %v, want 10m", got)
	}
}

// Pods are chosen by what they are known to take of the scarcest resource.
func TestPlanKnownDemand(t *testing.T) {
	cores := func(key int, n float64) relief.Pod {
		return with(pod(key), func(p *relief.Pod) {
			p.Demand = reserve.Demand{Amount: [reserve.Resources]float64{reserve.CPU: n, reserve.Memory: 1}}
		})
	}
	c := newCluster(t, nil)
	c.nodes[0] = full("full", -2, cores(1, .25), cores(2, 4), cores(3, 2), cores(4, 3))
	for i := range c.nodes {
		left := []float64{-.25, .9}[i]
		c.nodes[i].Signal.Rooms = [reserve.Resources]reserve.Room{
			reserve.CPU:    {Left: left, Unit: 1. / 16, Cost: 1. / 8, Most: 1},
			reserve.Memory: {Left: .9, Unit: 1e-10, Cost: .01, Most: 1},
		}
	}
	// Two typical pods of two cores are missing: one pod of four cores is as good.
	c.until(relief.Evict)
	d := c.plan()[0]
	if d.Pod.Key != 2 {
		t.Errorf("pod %d, want 2", d.Pod.Key)
	}
	// Without it two pods are needed, and 3 + 2 cores are enough.
	c.nodes[0].Pods[1].Evictable = false
	want := []relief.PodDecision{{Key: 1, Reason: relief.NotNeeded}, {Key: 2, Reason: relief.NotEvictable}, {Key: 3, Reason: relief.Next}, {Key: 4, Reason: relief.Evict}}
	if diff := cmp.Diff(want, c.plan()[0].Pods); diff != "" {
		t.Error(diff)
	}
}

// A pod goes only where it is allowed, and to where most room is.
func TestPlanAllowed(t *testing.T) {
	c := newCluster(t, nil)
	wide := idle("wide")
	wide.Signal.Avail = 20
	c.nodes = append(c.nodes, wide)
	c.until(relief.Evict)
	if got := c.plan()[0].Target; got != "wide" {
		t.Errorf("to %s, want wide", got)
	}
	allowed := func(pod *relief.Pod, node string) bool { return pod.Key == 2 && node == "idle" }
	d := c.planner.Plan(c.now, c.nodes, allowed)[0]
	if d.Pod.Key != 2 || d.Target != "idle" {
		t.Errorf("pod %d to %s, want 2 to idle", d.Pod.Key, d.Target)
	}
}

// The set is the best of all sets of at most three pods, as trying each of them shows.
func TestPlanTakesSmallestSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range 2000 {
		c := newCluster(t, nil)
		pods := make([]relief.Pod, rng.IntN(7))
		for i := range pods {
			size := float64(1+rng.IntN(8)) / 4 // sums are exact
			pods[i] = with(pod(i+1), func(p *relief.Pod) {
				p.Priority, p.DeletionCost = int32(rng.IntN(2)), int32(rng.IntN(2))
				p.Running = p.Running.Add(time.Duration(rng.IntN(3)) * time.Minute)
				p.Demand = reserve.Demand{Typical: [reserve.Resources]float64{size, size}}
			})
		}
		c.nodes[0] = full("full", -float64(3+rng.IntN(17))/4, pods...)
		c.nodes[1].Signal.Avail = 100
		c.until2(relief.Evict, relief.NoSet)
		d := c.plan()[0]
		want := bruteForce(pods, -c.nodes[0].Signal.Avail)
		var got []int
		for i, p := range d.Pods {
			if p.Reason == relief.Evict || p.Reason == relief.Next {
				got = append(got, i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v: room %g: %s", pods, c.nodes[0].Signal.Avail, diff)
		}
		if len(want) > 0 {
			found++
			if first := firstOf(pods, want); d.Pod.Key != pods[first].Key {
				t.Fatalf("%+v: pod %d first, want %d", pods, d.Pod.Key, pods[first].Key)
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d nodes could be relieved", found)
	}
}

func (c *cluster) until2(a, b relief.Reason) {
	for range 19 {
		if got := c.plan()[0].Reason; got == a || got == b {
			return
		}
		c.now = c.now.Add(step)
	}
	c.t.Fatalf("neither %v nor %v", a, b)
}

// before orders pods as the package document says.
func before(a, b relief.Pod) int {
	for _, sign := range []int{
		int(a.Priority - b.Priority), int(a.DeletionCost - b.DeletionCost), sign(b.Demand.Typical[0] - a.Demand.Typical[0]),
		int(b.Running.Sub(a.Running) / time.Second), int(a.Key) - int(b.Key),
	} {
		if sign != 0 {
			return sign
		}
	}
	return 0
}

func sign(x float64) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

func firstOf(pods []relief.Pod, set []int) int {
	return slices.MinFunc(set, func(i, j int) int { return before(pods[i], pods[j]) })
}

// bruteForce tries all sets.
func bruteForce(pods []relief.Pod, needed float64) []int {
	type outcome struct {
		set         []int
		rank, count int
		sum         float64
		order       []int // of its pods among all, the earliest first
	}
	order := make([]int, len(pods))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return before(pods[i], pods[j]) })
	var best *outcome
	for mask := 1; mask < 1<<len(pods); mask++ {
		o := outcome{}
		for i := range pods {
			if mask>>i&1 == 1 {
				o.set = append(o.set, i)
				o.sum += pods[i].Demand.Typical[0]
				o.rank = max(o.rank, int(2*pods[i].Priority+pods[i].DeletionCost))
				o.order = append(o.order, slices.Index(order, i))
			}
		}
		o.count = len(o.set)
		slices.Sort(o.order)
		if o.count > 3 || o.sum < needed {
			continue
		}
		if best == nil || slices.Compare([]float64{float64(o.rank), float64(o.count), o.sum}, []float64{float64(best.rank), float64(best.count), best.sum}) < 0 ||
			o.rank == best.rank && o.count == best.count && o.sum == best.sum && slices.Compare(o.order, best.order) < 0 {
			best = &o
		}
	}
	if best == nil {
		return nil
	}
	return best.set
}

// Plan changes none of its arguments and depends on nothing else: two planners agree.
func TestPlanIsPure(t *testing.T) {
	a, b := newCluster(t, nil), newCluster(t, nil)
	for range 30 {
		nodes := slices.Clone(a.nodes)
		nodes[0].Pods = slices.Clone(nodes[0].Pods)
		if diff := cmp.Diff(a.plan(), b.plan(), cmp.Comparer(func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(nodes, a.nodes); diff != "" {
			t.Fatal(diff)
		}
		a.now, b.now = a.now.Add(step), b.now.Add(step)
	}
}

func TestOptionsValidate(t *testing.T) {
	for name, change := range map[string]func(*relief.Options){
		"Tolerance": func(o *relief.Options) { o.Tolerance = math.NaN() }, "Sustained": func(o *relief.Options) { o.Sustained = -1 },
		"MinAge": func(o *relief.Options) { o.MinAge = -1 }, "Interval": func(o *relief.Options) { o.Interval = 0 },
		"MaxPerCycle": func(o *relief.Options) { o.MaxPerCycle = 0 },
	} {
		o := relief.DefaultOptions()
		change(&o)
		_, err := relief.NewPlanner(o)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, relief.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := relief.DefaultOptions()
	o.Rules.Burst = -1
	if _, err := relief.NewPlanner(o); !errors.Is(err, reserve.ErrInvalid) {
		t.Errorf("Rules: %v", err)
	}
}

func TestReasonString(t *testing.T) {
	if got := relief.NotNeeded.String(); got != "not needed" {
		t.Error(got)
	}
	if got := relief.Reason(200).String(); got != "reason 200" {
		t.Error(got)
	}
}

// No pod follows while another one of the node is terminating, or was evicted and is still there, and
// waiting uses up none of the three evictions.
func TestPlanWaitsForTheEnd(t *testing.T) {
	c := newCluster(t, nil)
	c.nodes[0].Pods = []relief.Pod{pod(0), pod(2), pod(3), pod(4)}
	c.pass(20 * time.Minute)
	if got := c.plan()[0].Reason; got != relief.Paused {
		t.Fatalf("evicted and there: %v", got)
	}
	c.nodes[0].Pods[0].Terminating = true
	c.pass(20 * time.Minute)
	if got := c.plan()[0].Reason; got != relief.Paused {
		t.Fatalf("terminating: %v", got)
	}
	for want := 2; want <= 3; want++ {
		c.nodes[0].Pods = c.nodes[0].Pods[1:]
		c.until(relief.Evict)
		if d := c.plan()[0]; d.Pod.Key != reserve.PodKey(want) {
			t.Errorf("pod %d, want %d", d.Pod.Key, want)
		}
		c.pass(0)
	}
}

// An eviction that failed pauses the node for an interval and its pod for five minutes, and counts for
// nothing else.
func TestPlanFailed(t *testing.T) {
	c := newCluster(t, func(o *relief.Options) { o.MaxPerCycle = 1 })
	c.until(relief.Evict)
	failed := c.now
	c.planner.Failed(c.now, c.plan()[0])
	got := map[reserve.PodKey]time.Duration{}
	for ; c.now.Sub(failed) < 10*time.Minute; c.now = c.now.Add(step) {
		d := c.plan()[0]
		if _, known := got[d.Pod.Key]; d.Reason == relief.Evict && !known {
			got[d.Pod.Key] = c.now.Sub(failed)
		}
	}
	if diff := cmp.Diff(map[reserve.PodKey]time.Duration{2: time.Minute, 1: 5 * time.Minute}, got); diff != "" {
		t.Error(diff)
	}
}

// A node that needs more evictions than are left of the three is left alone.
func TestPlanExhausted(t *testing.T) {
	c := newCluster(t, nil)
	c.nodes[0].Pods = []relief.Pod{pod(1), pod(2), pod(3), pod(4), pod(5)}
	c.until(relief.Evict)
	c.pass(0)
	c.nodes[0].Pods, c.nodes[0].Signal.Avail = c.nodes[0].Pods[1:], -2.5
	c.until(relief.LeftAlone)
	at := c.now
	d := c.plan()[0]
	if !d.Until.Equal(at.Add(time.Hour)) || d.Reason != relief.LeftAlone {
		t.Errorf("%v until %v, want an hour from %v", d.Reason, d.Until, at)
	}
	c.until(relief.Evict)
	if !c.now.Equal(d.Until) {
		t.Errorf("next at %v, want %v", c.now, d.Until)
	}
}

// A replacement is recognised if the API server's clock is behind by up to half a minute. Pods that were
// on nodes before are none.
func TestPlanSkew(t *testing.T) {
	for _, tt := range []struct {
		name   string
		behind time.Duration
		before bool
		want   relief.Reason
	}{
		{"behind", 29 * time.Second, false, relief.Moved},
		{"far behind", 31 * time.Second, false, relief.Next},
		{"there before", 29 * time.Second, true, relief.Next},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, func(o *relief.Options) { o.MinAge = 0 })
			c.until(relief.Evict)
			other := with(pod(9), func(p *relief.Pod) { p.Owner, p.Created = "owner-1", c.now.Add(-tt.behind) })
			if tt.before {
				c.nodes = append(c.nodes, full("other", 0, other))
			}
			c.pass(0)
			c.nodes[0].Pods = []relief.Pod{other, pod(2)}
			c.nodes[0].Signal.Avail = -2
			c.now = c.now.Add(time.Minute - step)
			c.plan()
			c.now = c.now.Add(step)
			d := c.plan()[0]
			if got := d.Pods[0].Reason; got != tt.want && (tt.want != relief.Next || got != relief.Evict) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
