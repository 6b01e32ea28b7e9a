package profiler_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/reserve"
)

var start = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// cluster feeds a store like the API and the agents.
type cluster struct {
	t        testing.TB
	store    *profiler.Store
	at       time.Time
	sequence map[string]uint64
}

func newCluster(t testing.TB, c profiler.Config) *cluster {
	t.Helper()
	s, err := profiler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t: t, store: s, at: start, sequence: map[string]uint64{}}
}

func deployment(name string) profile.Workload {
	return profile.Workload{Namespace: "default", Kind: "Deployment", Name: name}
}

// uid has the API server's format.
func uid(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

func (c *cluster) pod(n int, node string, w profile.Workload) {
	c.store.Pod(c.at, profiler.Pod{UID: uid(n), Node: node, Workload: w, Always: true})
}

// window returns a minute of a pod of some age.
func window(n int, cores, memory float64) agent.Window {
	return agent.Window{Pod: reserve.KeyOf(uid(n)), Usage: profile.Usage{
		Age: time.Hour, Span: time.Minute, CPU: 60 * cores, Pressure: true, Memory: memory, MemoryPeak: memory,
	}}
}

func (c *cluster) send(node string, windows ...agent.Window) profiler.Results {
	c.sequence[node]++
	return c.store.Windows(c.at, agent.UsageBatch{Node: node, Incarnation: 1, Sequence: c.sequence[node], Windows: windows})
}

// publish acknowledges all due updates, in their order.
func (c *cluster) publish() []profiler.Update {
	updates := c.store.Changed(c.at, math.MaxInt)
	for _, u := range updates {
		c.store.Published(u)
	}
	return updates
}

func names(updates []profiler.Update) (names []string) {
	for _, u := range updates {
		name := u.Workload.Namespace + "/" + u.Workload.Name
		if u.Gone {
			name += " gone"
		}
		names = append(names, name)
	}
	return names
}

func want(t testing.TB, what string, got profiler.Results, result profiler.Result, n int) {
	t.Helper()
	var all profiler.Results
	all[result] = n
	if got != all {
		t.Errorf("%s: %v, want %d %s", what, got, n, result)
	}
}

func TestAFirstWindowIsPublishedAtOnce(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	if got := c.publish(); got != nil {
		t.Errorf("published before anything was measured: %v", names(got))
	}
	want(t, "a pod's window", c.send("a", window(1, .5, 1<<30)), profiler.Accepted, 1)
	got := c.publish()
	if len(got) != 1 || got[0].Workload != deployment("web") || got[0].Pods != 1 || !got[0].Since.Equal(start) {
		t.Fatalf("updates %+v", got)
	}
	// One pod gives ½; amounts are published rounded up, by 9 % at most.
	d := got[0].Demand
	if d.CPU.Confidence != .5 || d.CPU.Amount < .5 || d.CPU.Amount > .55 || d.Memory.Amount < 1<<30 || d.Memory.Amount > 1.1*(1<<30) {
		t.Errorf("demand %+v", d)
	}
	if len(got[0].Slots) != 4 || len(got[0].Recommendations) != 1 || got[0].Recommendations[0].Target.CPU < .5 {
		t.Errorf("slots %v, recommendations %v", got[0].Slots, got[0].Recommendations)
	}
	if got := c.publish(); got != nil {
		t.Errorf("published again: %v", names(got))
	}
}

func TestWindowsOfUnknownPodsWait(t *testing.T) {
	c := newCluster(t, profiler.Config{}.WithBounds(0, 3))
	want(t, "of an unknown pod", c.send("a", window(1, 1, 1e9), window(2, 1, 1e9), window(3, 1, 1e9)), profiler.Waiting, 3)
	want(t, "one too many", c.send("a", window(4, 1, 1e9)), profiler.Overflow, 1)
	c.at = c.at.Add(time.Minute)
	c.pod(1, "", deployment("web")) // not bound yet
	if got := c.publish(); got != nil {
		t.Errorf("published: %v", names(got))
	}
	c.pod(1, "a", deployment("web"))
	if got := c.publish(); len(got) != 1 || !got[0].Since.Equal(start) && !got[0].Since.Equal(c.at) {
		t.Errorf("after the pod was shown: %+v", got)
	}
	c.pod(2, "b", deployment("web"))
	if got := c.store.Stats(); got.Windows[profiler.Accepted] != 1 || got.Windows[profiler.Foreign] != 1 || got.WaitingWindows != 1 {
		t.Errorf("stats %+v", got)
	}
	c.at = start.Add(10 * time.Minute)
	c.send("a")
	if got := c.store.Stats(); got.Windows[profiler.Expired] != 1 || got.WaitingWindows != 0 {
		t.Errorf("stats after ten minutes %+v", got)
	}
	c.pod(3, "a", deployment("late"))
	if got := c.publish(); got != nil {
		t.Errorf("what expired was published: %v", names(got))
	}
}

// A window without CPU, or without memory, does not count for it.
func TestWindowsOfWhatWasNotRead(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	c.pod(2, "a", deployment("web"))
	unread, alone := window(1, 0, 1<<30), window(2, .5, 0)
	unread.NoCPU = true
	c.send("a", unread, alone)
	got := c.publish()
	if len(got) != 1 {
		t.Fatalf("updates %v", names(got))
	}
	if d := got[0].Demand; d.CPU.Amount < .5 || d.CPU.Amount > .55 || d.CPU.Confidence != .5 || d.Memory.Amount < 1<<30 || d.Memory.Confidence != .5 {
		t.Errorf("demand %+v, want half a core and 1 GiB, of a pod each", d)
	}
}

// A usage of 1.2 millicores is published as 2 and not rewritten because of that.
func TestRoundedAmountsAreNoNews(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("tiny"))
	c.send("a", window(1, .0012, 1<<30))
	got := c.publish()
	if len(got) != 1 {
		t.Fatalf("updates %v", names(got))
	}
	written := got[0].Demand
	written.CPU.Amount = .002
	c.store.Observed(c.at, profiler.Object{Workload: deployment("tiny"), Demand: written, At: c.at})
	c.at = c.at.Add(time.Minute)
	c.send("a", window(1, .0012, 1<<30))
	if got := c.publish(); len(got) != 0 {
		t.Errorf("published again: %v", names(got))
	}
	c.send("a", window(1, .0001, 1<<30), window(1, .0001, 1<<30), window(1, .0001, 1<<30), window(1, .0001, 1<<30))
	if got := c.publish(); len(got) != 1 {
		t.Errorf("a third of it is no news: %v", names(got))
	}
}

// The node knows a static pod by a UID that the API has in an annotation of its mirror.
func TestWindowsOfStaticPodsAreTheirMirrors(t *testing.T) {
	for name, first := range map[string]bool{"window first": true, "mirror first": false} {
		c := newCluster(t, profiler.Config{})
		w := window(0, .5, 1<<30)
		w.Pod = reserve.KeyOf("0123456789abcdef0123456789abcdef")
		send := func() { c.send("a", w) }
		show := func(n int, node string, of profile.Workload) {
			c.store.Pod(c.at, profiler.Pod{UID: uid(n), Mirrors: "0123456789abcdef0123456789abcdef", Node: node, Workload: of})
		}
		if first {
			send()
		}
		show(1, "a", deployment("static"))
		show(2, "a", deployment("liar")) // writes the same UID into its annotations
		show(3, "b", deployment("other"))
		if !first {
			send()
		}
		if got := c.publish(); len(got) != 1 || got[0].Workload != deployment("static") {
			t.Errorf("%s: updates %v", name, names(got))
		}
		// The mirror is recreated.
		c.store.Gone(c.at, uid(1))
		show(4, "a", deployment("anew"))
		send()
		if got := c.publish(); len(got) != 1 || got[0].Workload != deployment("anew") {
			t.Errorf("%s: updates of the new mirror %v", name, names(got))
		}
	}
}

// A mirror that was recreated while the API was away gets its pod's windows.
func TestMirrorsMadeAnewBetweenLists(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	const static = "0123456789abcdef0123456789abcdef"
	w := window(0, .5, 1<<30)
	w.Pod = reserve.KeyOf(static)
	for n, name := range []string{"first", "second"} {
		c.store.Pods(c.at, []profiler.Pod{{UID: uid(n), Mirrors: static, Node: "a", Workload: deployment(name)}})
		want(t, name, c.send("a", w), profiler.Accepted, 1)
		if got := c.publish(); len(got) != 1 || got[0].Workload != deployment(name) {
			t.Errorf("updates %v, want of the %s", names(got), name)
		}
		c.at = c.at.Add(time.Hour)
	}
}

// A mirror that claims an ordinary pod's UID gets none of its windows.
func TestMirrorsTakeNoPodsWindows(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.store.Pod(c.at, profiler.Pod{UID: uid(2), Mirrors: uid(1), Node: "a", Workload: deployment("liar")})
	c.pod(1, "a", deployment("web"))
	c.send("a", window(1, .5, 1<<30))
	c.store.Gone(c.at, uid(2))
	c.send("a", window(1, .5, 1<<30))
	if got := c.publish(); len(got) != 1 || got[0].Workload != deployment("web") {
		t.Errorf("updates %v", names(got))
	}
}

// On each of 1,100 nodes is a pod that the API does not show for ten minutes: an ordinary pod's
// first window still waits for its pod.
func TestPodsThatNeverComePushOutNoOthers(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	for range 10 {
		for n := range 1100 {
			c.send(fmt.Sprint("node-", n), window(n+1, 1, 1e9))
		}
		c.at = c.at.Add(59 * time.Second)
	}
	want(t, "the first window", c.send("node-7", window(5000, .5, 1<<30)), profiler.Waiting, 1)
	c.pod(5000, "node-7", deployment("web"))
	if got := c.publish(); len(got) != 1 || got[0].Workload != deployment("web") {
		t.Errorf("updates %v", names(got))
	}
}

// A node that floods the profiler gets its share, and others theirs.
func TestAFloodingNodePushesOutNoOthers(t *testing.T) {
	c := newCluster(t, profiler.Config{}.WithBounds(0, 100))
	c.send("quiet", window(1, .5, 1<<30))
	for n := range 300 {
		c.send("loud", window(1000+n, 1, 1e9))
	}
	for n := range 10 {
		want(t, "another", c.send("late", window(2000+n, 1, 1e9)), profiler.Waiting, 1)
		c.send("loud", window(3000+n, 1, 1e9))
	}
	if got := c.store.Stats(); got.WaitingWindows != 100 {
		t.Errorf("%d windows wait", got.WaitingWindows)
	}
	c.pod(1, "quiet", deployment("web"))
	if got := c.publish(); len(got) != 1 || got[0].Workload != deployment("web") {
		t.Errorf("updates %v", names(got))
	}
}

// A container's window waits until the API names the container.
func TestRevisionsAreInTheOrderOfTheirPods(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	pod := func(n int, revision string) {
		c.store.Pod(c.at, profiler.Pod{UID: uid(n), Node: "a", Workload: deployment("web"), Revision: revision, Created: c.at, Always: true})
	}
	pod(1, "one")
	pod(2, "one")
	c.at = c.at.Add(time.Hour)
	pod(3, "two")
	c.at = c.at.Add(10 * time.Minute)
	want(t, "a pod of the newer", c.send("a", window(3, .5, 1<<30)), profiler.Accepted, 1)
	old := window(2, .5, 8<<30)
	old.Age = time.Minute
	want(t, "one of the older", c.send("a", old), profiler.Accepted, 1)
	got := c.publish()
	if len(got) == 0 {
		t.Fatal("nothing is published")
	}
	if u := got[0]; u.Revision != "two" || u.Demand.Memory.Amount > 1.1*(1<<30) {
		t.Errorf("revision %s takes %+v", u.Revision, u.Demand)
	}
}

// A workload that is first measured when its refresh is due is published once, because the API
// would refuse a second creation.
func TestAFirstUpdateIsOne(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	c.publish()
	c.at = c.at.Add(time.Hour)
	want(t, "a window", c.send("a", window(1, .5, 1<<30)), profiler.Accepted, 1)
	if got := names(c.publish()); len(got) != 1 {
		t.Errorf("published %v", got)
	}
}

func TestContainersAreNamedByTheirIDs(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	of := func(key uint64, memory float64) agent.Window {
		w := window(1, .1, memory)
		w.Container = key
		return w
	}
	want(t, "the pod's", c.send("a", window(1, .2, 3e9)), profiler.Accepted, 1)
	want(t, "containers'", c.send("a", of(7, 1e9), of(8, 2e9)), profiler.Waiting, 2)
	c.store.Pod(c.at, profiler.Pod{UID: uid(1), Node: "a", Workload: deployment("web"), Containers: []profiler.Container{{Key: 8, Name: "main"}, {Key: 7, Name: "proxy"}}})
	got := c.publish()
	if len(got) != 1 || len(got[0].Recommendations) != 2 || got[0].Recommendations[0].Container != "main" || got[0].Recommendations[0].Target.Memory < 2e9 || got[0].Recommendations[1].Target.Memory > 1.6e9 {
		t.Errorf("updates %+v", got)
	}
}

func TestANodeSpeaksOfItsPodsAlone(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	want(t, "another node's pod", c.send("b", window(1, 100, 1e12)), profiler.Foreign, 1)
	impossible := window(1, 5000, 1e9)
	want(t, "5,000 cores", c.send("a", impossible), profiler.Refused, 1)
	c.store.Pod(c.at, profiler.Pod{UID: uid(2), Node: "a", Workload: profile.Workload{Namespace: "default", Kind: "Workload", Name: string(make([]byte, 300))}})
	want(t, "a workload that no object can name", c.send("a", window(2, 1, 1e9)), profiler.Unnamed, 1)
	if got := c.publish(); got != nil {
		t.Errorf("published: %v", names(got))
	}
}

func TestDuplicates(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	send := func(after time.Duration, incarnation, sequence uint64) profiler.Results {
		return c.store.Windows(start.Add(after), agent.UsageBatch{Node: "a", Incarnation: incarnation, Sequence: sequence, Windows: []agent.Window{window(1, 1, 1e9)}})
	}
	for _, test := range []struct {
		after                 time.Duration
		incarnation, sequence uint64
		want                  profiler.Result
	}{
		{0, 2, 5, profiler.Accepted}, {0, 2, 5, profiler.Duplicate}, {0, 2, 4, profiler.Duplicate}, {0, 2, 6, profiler.Accepted},
		{time.Minute, 1, 9, profiler.Duplicate}, {time.Minute, 3, 1, profiler.Accepted}, {time.Minute, 2, 7, profiler.Duplicate},
		{time.Hour, 3, 1, profiler.Duplicate},
		// After this long without reports, the node's clock may have been set back.
		{time.Hour, 1, 1, profiler.Accepted}, {time.Hour, 1, 2, profiler.Accepted},
	} {
		want(t, fmt.Sprint(test), send(test.after, test.incarnation, test.sequence), test.want, 1)
	}
}

func TestOnlyChangesArePublished(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	for n := range 40 {
		c.pod(n, "a", deployment("web"))
	}
	measure := func(from, to int, cores, memory float64) {
		c.at = c.at.Add(time.Second)
		for n := from; n < to; n++ {
			c.send("a", window(n, cores, memory))
		}
	}
	measure(0, 1, .5, 1e9)
	var confidence []float64
	for n := 1; n < 40; n++ {
		for _, u := range c.publish() {
			confidence = append(confidence, u.Demand.Memory.Confidence)
		}
		measure(n, n+1, .5, 1e9)
	}
	// The confidence n/(n+1) changes in steps of at least an eighth, rounded to sixteenths.
	if want := []float64{.5, .6875, .8125, .9375}; !cmp.Equal(confidence, want) {
		t.Errorf("published at confidences %v, want %v", confidence, want)
	}
	c.publish()
	measure(0, 40, .49, 1.01e9)
	if got := c.publish(); got != nil {
		t.Errorf("2 %% were published: %+v", got)
	}
	// A change of all by half is within the spread of one workload's pods.
	measure(0, 40, .5, 1.5e9)
	measure(0, 40, .5, 1.5e9)
	got := c.publish()
	if len(got) != 1 || got[0].Demand.Memory.Amount < 1.4e9 {
		t.Fatalf("a half more: %+v", got)
	}
	// Ten minutes later it is published again, if anything was measured since.
	c.at = got[0].At.Add(10 * time.Minute)
	if again := c.publish(); again != nil {
		t.Errorf("published without news: %v", names(again))
	}
	measure(0, 1, .5, 1.5e9)
	c.at = got[0].At.Add(21 * time.Minute)
	if again := c.publish(); len(again) != 1 {
		t.Errorf("not published again: %v", names(again))
	}
}

// TestAmountsBesideAStepAreQuiet: an amount that varies about a published step is not published
// each time.
func TestAmountsBesideAStepAreQuiet(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	writes := 0
	for i := range 100 {
		c.at = c.at.Add(time.Second)
		c.send("a", window(1, .5, []float64{.99, 1.01}[i%2]*(1<<30)))
		writes += len(c.publish())
	}
	if writes > 2 {
		t.Errorf("published %d times", writes)
	}
}

func TestFailedUpdatesComeAgain(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	c.send("a", window(1, .5, 1e9))
	u := c.store.Changed(c.at, 10)
	if len(u) != 1 {
		t.Fatalf("updates %v", names(u))
	}
	c.store.Failed(c.at, u[0])
	if got := c.store.Changed(c.at, 10); got != nil {
		t.Errorf("at once: %v", names(got))
	}
	c.at = c.at.Add(time.Minute)
	if got := c.publish(); len(got) != 1 || !got[0].Since.Equal(start) {
		t.Errorf("later: %+v", got)
	}
	c.store.Lost(c.at, deployment("web"))
	if got := c.publish(); len(got) != 1 {
		t.Errorf("after its object was deleted: %v", names(got))
	}
	// Another client edits the published object.
	c.store.Observed(c.at, profiler.Object{Workload: deployment("web"), Demand: profile.Demand{CPU: profile.Share{Amount: 64, Confidence: 1}}, At: c.at})
	if got := c.publish(); len(got) != 1 || got[0].Demand.CPU.Amount > 1 {
		t.Errorf("after its object was edited: %+v", got)
	}
}

func TestSpecBoundsRecommendations(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	spec := profiler.Spec{Preset: "seed", Bounds: profile.Bounds{Max: profile.Amounts{CPU: .1, Memory: 1e8}}}
	c.store.Observed(c.at, profiler.Object{Workload: deployment("web"), Spec: spec})
	c.send("a", window(1, .5, 1e9))
	got := c.publish()
	if len(got) != 1 || len(got[0].Recommendations) != 1 {
		t.Fatalf("updates %+v", got)
	}
	if r := got[0].Recommendations[0]; r.Target != (profile.Amounts{CPU: .1, Memory: 1e8}) || r.Uncapped.Memory < 1.15e9 {
		t.Errorf("recommendation %+v", r)
	}
}

// The only workload of a namespace that may have one makes room for the next.
func TestBoundOfOne(t *testing.T) {
	for _, config := range []profiler.Config{profiler.Config{}.WithBounds(1, 0), {MaxWorkloads: 1}} {
		c := newCluster(t, config)
		for n, name := range []string{"a", "b", "c"} {
			c.pod(n, "a", deployment(name))
			c.send("a", window(n, .5, 1e9))
			c.send("a", window(n, .5, 1e9))
		}
		if got := names(c.publish()); !cmp.Equal(got, []string{"default/c", "default/a gone", "default/b gone"}) {
			t.Errorf("%+v: updates %q", config, got)
		}
	}
}

// A pod of an unknown workload is reported as such, until it is measured.
func TestUnknownWorkloads(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	pod := profiler.Pod{UID: uid(1), Node: "a", Workload: deployment("web")}
	for range 2 {
		if !c.store.Pod(c.at, pod) {
			t.Error("nothing is known, and that is not said")
		}
	}
	c.send("a", window(1, .5, 1e9))
	if c.store.Pod(c.at, pod) {
		t.Error("it was measured, and is said to be unknown")
	}
}

// Nodes are bounded; those that were silent for long make room.
func TestBoundOfNodes(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	received := func(n int) profiler.Results {
		return c.store.Windows(c.at, agent.UsageBatch{Node: fmt.Sprint(n), Incarnation: 1, Sequence: 1, Windows: []agent.Window{window(1, .5, 1e9)}})
	}
	const most = 20_000
	for n := range most {
		if got := received(n); got[profiler.Crowded] != 0 {
			t.Fatalf("node %d: %v", n, got)
		}
	}
	if got := received(most); got[profiler.Crowded] != 1 {
		t.Errorf("one more: %v", got)
	}
	c.at = c.at.Add(10 * time.Minute)
	if got := received(most); got[profiler.Crowded] != 0 {
		t.Errorf("after ten silent minutes: %v", got)
	}
}

// A client that invents names uses its own namespace's room.
func TestBoundsOfWorkloads(t *testing.T) {
	c := newCluster(t, profiler.Config{MaxWorkloads: 5}.WithBounds(3, 0))
	seen := func(n int, namespace, name string) {
		c.at = c.at.Add(time.Second)
		w := profile.Workload{Namespace: namespace, Kind: "Job", Name: name}
		c.pod(n, "a", w)
		c.send("a", window(n, .5, 1e9))
	}
	seen(1, "quiet", "one")
	seen(2, "quiet", "two")
	c.publish()
	for n := range 10 {
		seen(10+n, "loud", fmt.Sprint(n))
	}
	got := names(c.publish())
	if want := []string{"loud/7", "loud/8", "loud/9"}; !cmp.Equal(got, append(want, "loud/0 gone", "loud/1 gone", "loud/2 gone", "loud/3 gone", "loud/4 gone", "loud/5 gone", "loud/6 gone")) {
		t.Errorf("updates %q", got)
	}
	// The least recently seen of all goes.
	seen(1, "quiet", "one")
	seen(3, "other", "three")
	if got := names(c.publish()); !cmp.Equal(got, []string{"other/three", "quiet/two gone"}) {
		t.Errorf("updates %q", got)
	}
	// A pod whose workload was removed brings it back.
	c.at = c.at.Add(time.Second)
	c.send("a", window(2, .5, 1e9))
	if got := names(c.publish()); !cmp.Equal(got, []string{"quiet/two", "loud/7 gone"}) {
		t.Errorf("updates %q", got)
	}
	c.at = c.at.Add(14 * 24 * time.Hour)
	c.publish()
	if st := c.store.Stats(); st.Workloads != 0 || st.Forgotten != 5 || st.Evicted != 9 {
		t.Errorf("after two weeks: %+v", st)
	}
}

func TestNamespacesTakeTurns(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	for n := range 100 {
		c.pod(n, "a", profile.Workload{Namespace: "loud", Kind: "Job", Name: fmt.Sprint(n)})
		c.send("a", window(n, .5, 1e9))
	}
	c.pod(1000, "a", deployment("web"))
	c.send("a", window(1000, .5, 1e9))
	if got := names(c.store.Changed(c.at, 2)); !cmp.Equal(got, []string{"loud/0", "default/web"}) {
		t.Errorf("first %q", got)
	}
}

// A job with a new name each run is identified by its template.
func TestTemplatesArePriors(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	run := func(n int, template uint64) {
		w := profile.Workload{Namespace: "default", Kind: "Job", Name: fmt.Sprint("run", n)}
		c.store.Pod(c.at, profiler.Pod{UID: uid(n), Node: "a", Workload: w, Template: template})
	}
	for n := range 3 {
		run(n, 7)
		c.send("a", window(n, .5, 1e9))
	}
	c.publish()
	run(3, 7)
	run(4, 8)
	got := c.publish()
	if len(got) != 1 || got[0].Workload.Name != "run3" || got[0].Demand.Memory.Confidence != .75 || got[0].Demand.Memory.Amount < 1e9 {
		t.Errorf("updates before anything was measured: %+v", got)
	}
}

// One workload of many pods does not outweigh similar ones: 40 pods count as four.
func TestPriorsAreOfWorkloads(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	pods := 0
	run := func(name string, node int, memory float64) {
		pods++
		w := profile.Workload{Namespace: "default", Kind: "Job", Name: name}
		c.store.Pod(c.at, profiler.Pod{UID: uid(pods), Node: fmt.Sprint(node), Workload: w, Template: 7})
		if memory > 0 {
			c.send(fmt.Sprint(node), window(pods, .5, memory))
		}
	}
	for n := range 4 {
		run(fmt.Sprint("small", n), n, 1e9)
	}
	for n := range 40 {
		run("large", n, 3e9)
	}
	run("new", 1, 0)
	for _, w := range c.store.State(c.at).Workloads {
		if got := w.Demand.Memory.Amount; w.Workload.Name == "new" && (got < 1.9e9 || got > 2.3e9) {
			t.Errorf("%.3g bytes, want some 2e9", got)
		}
	}
}

// One lying node does not determine the workload.
func TestAHostileNodeIsBounded(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	n := 0
	for i := range 20 {
		n++
		c.pod(n, fmt.Sprint("node", i), deployment("web"))
		c.send(fmt.Sprint("node", i), window(n, .5, 1e9))
	}
	for range 500 {
		n++
		c.pod(n, "evil", deployment("web"))
		c.send("evil", window(n, .5, 1.7e9)) // within what contradicts nothing
	}
	// At most 4 of 24.
	if got := c.store.State(c.at).Workloads[0].Demand.Memory.Amount; got > 1.14e9 {
		t.Errorf("500 pods of a node make it %.3g of 1e9", got)
	}
}

// A profile forgets as its rules expect: with an hour's half-life the last of many hours dominates.
func TestHalfLivesAreThePresets(t *testing.T) {
	rule := profile.Rule{HalfLife: time.Hour, Percentile: .5}
	for name, c := range map[string]struct {
		preset profile.Preset
		want   float64
	}{
		"an hour": {profile.Preset{Name: "short", CPU: rule, Memory: rule}, 1},
		"default": {profile.Spazio(), 4},
	} {
		store := newCluster(t, profiler.Config{Preset: c.preset})
		store.pod(1, "a", deployment("web"))
		for hour := range 12 {
			cores := 4.
			if hour >= 10 {
				cores = 1
			}
			store.at = store.at.Add(time.Hour)
			store.send("a", window(1, cores, 1e8))
		}
		updates := store.publish()
		if len(updates) == 0 || len(updates[0].Recommendations) != 1 {
			t.Fatalf("%s: %+v", name, updates)
		}
		if got := updates[0].Recommendations[0].Target.CPU; got < c.want || got > 1.15*c.want {
			t.Errorf("%s: %v cores, want some %v", name, got, c.want)
		}
	}
}

// A node's last batch is kept while there is room, however old it is.
func TestABatchIsTakenOnce(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	b := agent.UsageBatch{Node: "a", Incarnation: 1, Sequence: 1, Windows: []agent.Window{window(1, .5, 1e9)}}
	want(t, "the batch", c.store.Windows(c.at, b), profiler.Accepted, 1)
	c.at = c.at.Add(time.Hour)
	c.pod(2, "b", deployment("web"))
	want(t, "another node's", c.send("b", window(2, .5, 1e9)), profiler.Accepted, 1)
	want(t, "the batch, an hour later", c.store.Windows(c.at, b), profiler.Duplicate, 1)
}

// The recommendation depends on how long each demand lasted, not on its mean.
func TestDemandsAreRecommended(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	w := window(1, .5, 1e9)
	w.Demand = []profile.DemandTime{{Bucket: agent.DemandBucket(.1), Millis: 45_000}, {Bucket: agent.DemandBucket(2), Millis: 15_000}}
	c.send("a", w)
	got := c.publish()
	if len(got) != 1 || len(got[0].Recommendations) != 1 || got[0].Recommendations[0].Target.CPU < 1.9 {
		t.Errorf("%+v", got)
	}
}

func TestCheckpoints(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	for n := range 5 {
		c.pod(n, "a", deployment("web"))
		c.send("a", window(n, .5, 1e9))
	}
	c.pod(5, "a", deployment("never measured"))
	c.publish()
	if got := c.store.Checkpoints(c.at, 10); got != nil {
		t.Errorf("at once: %d", len(got))
	}
	c.at = c.at.Add(10 * time.Minute)
	shards := c.store.Checkpoints(c.at, 10)
	if len(shards) != 1 || len(shards[0].Checkpoints) != 1 || shards[0].Checkpoints[0].Pods != 5 {
		t.Fatalf("checkpoints %+v", shards)
	}
	saved := shards[0].Checkpoints[0]
	c.at = c.at.Add(10 * time.Minute)
	if got := c.store.Checkpoints(c.at, 10); got != nil {
		t.Errorf("without news: %d", len(got))
	}
	c.store.Unsaved(c.at, shards[0].Number)
	if diff := cmp.Diff(shards, c.store.Checkpoints(c.at, 10)); diff != "" {
		t.Errorf("what was not kept comes again: %s", diff)
	}

	next := newCluster(t, profiler.Config{})
	next.at = c.at
	if err := next.store.Restore(c.at, saved); err != nil {
		t.Fatal(err)
	}
	got := next.publish()
	if len(got) != 1 || got[0].Pods != 5 || got[0].Demand != c.store.State(c.at).Workloads[1].Published {
		t.Errorf("restored %+v, was %+v", got, c.store.State(c.at).Workloads)
	}

	bad := saved
	bad.State = append([]byte{99}, bad.State[1:]...)
	if err := next.store.Restore(c.at, bad); !errors.Is(err, profile.ErrVersion) {
		t.Errorf("of another version: %v", err)
	}
	bad.State = saved.State[:20]
	var at *field.Error
	if err := next.store.Restore(c.at, bad); !errors.As(err, &at) {
		t.Errorf("cut short: %v", err)
	}
	// A measured value has more weight.
	fresh := newCluster(t, profiler.Config{})
	fresh.pod(1, "a", deployment("web"))
	fresh.send("a", window(1, 2, 4e9))
	if err := fresh.store.Restore(fresh.at, saved); err != nil {
		t.Fatal(err)
	}
	if got := fresh.publish(); len(got) != 1 || got[0].Demand.Memory.Amount < 4e9 {
		t.Errorf("restored over what was measured: %+v", got)
	}
}

// Of 3,000 workloads that are measured each minute no checkpoint is older than Refresh, at less
// than one write a second; a process that begins with them knows every workload, and its own
// checkpoints keep those that are no longer measured.
func TestCheckpointsAreFreshAndFew(t *testing.T) {
	const workloads = 3000
	c := newCluster(t, profiler.Config{}.WithBounds(workloads, 0))
	for n := range workloads {
		c.pod(n, "a", deployment(fmt.Sprint(n)))
	}
	kept, at := map[int]profiler.Shard{}, map[int]time.Time{}
	writes := 0
	for second := range 30 * 60 {
		c.at = start.Add(time.Duration(second) * time.Second)
		for n := second % 60; n < workloads; n += 60 {
			c.send("a", window(n, .5, 1e9))
		}
		for _, s := range c.store.Checkpoints(c.at, 1) {
			kept[s.Number], at[s.Number] = s, c.at
			writes++
		}
		if second < 12*60 {
			continue
		}
		for number, when := range at {
			if age := c.at.Sub(when); age > 11*time.Minute {
				t.Fatalf("after %d s shard %d is %v old", second, number, age)
			}
		}
	}
	if writes > 30*60 {
		t.Errorf("%d writes in half an hour", writes)
	}

	next := newCluster(t, profiler.Config{}.WithBounds(workloads, 0))
	next.at = c.at
	restored := 0
	for _, s := range kept {
		for _, one := range s.Checkpoints {
			if err := next.store.Restore(next.at, one); err != nil {
				t.Fatal(err)
			}
			restored++
		}
	}
	if restored != workloads {
		t.Fatalf("%d workloads restored", restored)
	}
	// A continuing workload is measured, so that its shard is written.
	for n := range 10 {
		next.pod(n, "a", deployment(fmt.Sprint(n)))
		next.send("a", window(n, .5, 1e9))
	}
	next.at = next.at.Add(10 * time.Minute)
	for _, s := range next.store.Checkpoints(next.at, profiler.ShardCount) {
		if len(s.Checkpoints) != len(kept[s.Number].Checkpoints) {
			t.Errorf("shard %d has %d workloads, %d before the restart", s.Number, len(s.Checkpoints), len(kept[s.Number].Checkpoints))
		}
	}
}

// A forgotten workload leaves its shard, in which the others stay.
func TestCheckpointsForget(t *testing.T) {
	c := newCluster(t, profiler.Config{}.WithBounds(1, 0))
	c.pod(1, "a", deployment("old"))
	c.send("a", window(1, .5, 1e9))
	c.at = c.at.Add(10 * time.Minute)
	saved := c.store.Checkpoints(c.at, 10)
	if len(saved) != 1 || len(saved[0].Checkpoints) != 1 {
		t.Fatalf("checkpoints %+v", saved)
	}
	c.pod(2, "a", deployment("new"))
	c.at = c.at.Add(10 * time.Minute)
	got := c.store.Checkpoints(c.at, 10)
	if len(got) != 1 || got[0].Number != saved[0].Number || len(got[0].Checkpoints) != 0 {
		t.Errorf("after the workload was dropped: %+v", got)
	}
}

// A workload that was not measured for a day is published as stale, once, and its age stays; also
// if another process published it. New measurements are published at once.
func TestIdleWorkloadsAreStale(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("idle"))
	c.send("a", window(1, .5, 1e9))
	first := c.publish()
	if len(first) != 1 || first[0].Stale {
		t.Fatalf("at first: %+v", first)
	}
	other := profiler.Object{Workload: deployment("of another process"), Demand: first[0].Demand, At: start}
	for ; c.at.Before(start.Add(24 * time.Hour)); c.at = c.at.Add(10 * time.Minute) {
		if got := c.publish(); got != nil {
			t.Fatalf("after %v: %q", c.at.Sub(start), names(got))
		}
	}
	got := c.publish()
	if len(got) != 1 || !got[0].Stale || !got[0].At.Equal(start) || got[0].Demand != first[0].Demand {
		t.Fatalf("after a day: %+v", got)
	}
	next := newCluster(t, profiler.Config{})
	next.at = c.at
	next.store.Observed(next.at, other)
	if err := next.store.Restore(next.at, profiler.Checkpoint{Workload: other.Workload, Pods: 1, State: state(t, c)}); err != nil {
		t.Fatal(err)
	}
	next.at = next.at.Add(10 * time.Minute)
	if got := next.publish(); len(got) != 1 || !got[0].Stale || !got[0].At.Equal(start) {
		t.Errorf("of another process: %+v", got)
	}
	for range 10 {
		c.at = c.at.Add(time.Hour)
		if got := c.publish(); got != nil {
			t.Fatalf("said again: %q", names(got))
		}
	}
	// A standby has seen the condition.
	other.Stale = true
	standby := newCluster(t, profiler.Config{})
	standby.at = c.at
	standby.store.Observed(standby.at, other)
	if err := standby.store.Restore(standby.at, profiler.Checkpoint{Workload: other.Workload, Pods: 1, State: state(t, c)}); err != nil {
		t.Fatal(err)
	}
	standby.at = standby.at.Add(10 * time.Minute)
	if got := standby.publish(); got != nil {
		t.Errorf("a standby says it again: %+v", got)
	}
	c.send("a", window(1, .5, 1e9))
	if got := c.publish(); len(got) != 1 || got[0].Stale || !got[0].At.Equal(c.at) {
		t.Errorf("measured again: %+v", got)
	}
}

// state returns that of the checkpoint of a store's only workload.
func state(t *testing.T, c *cluster) []byte {
	t.Helper()
	for number := range profiler.ShardCount {
		c.store.Unsaved(c.at, number)
	}
	for _, s := range c.store.Checkpoints(c.at, profiler.ShardCount) {
		if len(s.Checkpoints) > 0 {
			return s.Checkpoints[0].State
		}
	}
	t.Fatal("no checkpoint")
	return nil
}

// alike returns names of workloads whose checkpoints are in one shard.
func alike(t *testing.T) (names []string) {
	t.Helper()
	const workloads = 20_000
	c := newCluster(t, profiler.Config{}.WithBounds(workloads, 0))
	for n := range workloads {
		c.pod(n, "a", deployment(fmt.Sprint(n)))
		c.send("a", window(n, .5, 1e9))
	}
	c.at = c.at.Add(10 * time.Minute)
	for _, one := range c.store.Checkpoints(c.at, 1)[0].Checkpoints {
		names = append(names, one.Workload.Name)
	}
	return names
}

// A workload with large checkpoints gets no room for them; others do.
func TestCheckpointsAreBounded(t *testing.T) {
	const small, containers = 5, 60
	names := alike(t)
	c := newCluster(t, profiler.Config{})
	for n, name := range names {
		pod := profiler.Pod{UID: uid(n), Node: "a", Workload: deployment(name)}
		windows := []agent.Window{window(n, .5, 1e9)}
		for i := 1; i <= containers && n >= small; i++ {
			pod.Containers = append(pod.Containers, profiler.Container{Key: uint64(i), Name: fmt.Sprint("container-", i)})
			w := window(n, .5, 1e9)
			w.Container = uint64(i)
			windows = append(windows, w)
		}
		c.store.Pod(c.at, pod)
		c.send("a", windows...)
	}
	c.at = c.at.Add(10 * time.Minute)
	shards := c.store.Checkpoints(c.at, profiler.ShardCount)
	if len(shards) != 1 {
		t.Fatalf("%d shards", len(shards))
	}
	kept, size := map[string]bool{}, 0
	for _, one := range shards[0].Checkpoints {
		kept[one.Workload.Name] = true
		size += len(one.State)
	}
	for _, name := range names[:small] {
		if !kept[name] {
			t.Errorf("there is no room for small workload %s", name)
		}
	}
	// With base64 and the names an object may have 1.5 MB.
	if left := len(names) - len(kept); left == 0 || left != shards[0].Left || size > 1_000_000 || size < 500_000 {
		t.Errorf("%d of %d left, %d are said to be; %d bytes", left, len(names), shards[0].Left, size)
	}
}

func TestPodsAreForgotten(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	c.send("a", window(1, .5, 1e9))
	c.store.Gone(c.at, uid(1))
	c.at = c.at.Add(5 * time.Minute)
	want(t, "the last window of a pod that went", c.send("a", window(1, .5, 1e9)), profiler.Accepted, 1)
	c.at = c.at.Add(5 * time.Minute)
	want(t, "later", c.send("a", window(1, .5, 1e9)), profiler.Waiting, 1)
	if st := c.store.Stats(); st.Pods != 0 || st.Workloads != 1 {
		t.Errorf("stats %+v", st)
	}
}

// Replicas with the same input have the same state, whichever writes.
func TestAStandbyKnowsAll(t *testing.T) {
	leader, standby := newCluster(t, profiler.Config{}), newCluster(t, profiler.Config{})
	for n := range 50 {
		for _, c := range []*cluster{leader, standby} {
			c.at = start.Add(time.Duration(n) * time.Second)
			c.pod(n, "a", deployment(fmt.Sprint(n%5)))
			c.send("a", window(n, float64(n%5), 1e9*float64(1+n%5)))
		}
		for _, u := range leader.publish() {
			standby.store.Observed(standby.at, profiler.Object{Workload: u.Workload, Demand: u.Demand, At: u.At})
		}
	}
	if got := names(standby.publish()); got != nil {
		t.Errorf("a new leader writes again: %q", got)
	}
	a, b := leader.store.State(leader.at), standby.store.State(standby.at)
	if diff := cmp.Diff(a.Workloads, b.Workloads); diff != "" {
		t.Error(diff)
	}
}

func TestManyAtOnce(t *testing.T) {
	c := newCluster(t, profiler.Config{MaxWorkloads: 20}.WithBounds(10, 50))
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 300 {
				at, n := start.Add(time.Duration(i)*time.Second), (g*300+i)%97
				node := fmt.Sprint("node", g)
				w := profile.Workload{Namespace: fmt.Sprint("n", n%4), Kind: "Job", Name: fmt.Sprint(n % 31)}
				c.store.Windows(at, agent.UsageBatch{Node: node, Incarnation: 1, Sequence: uint64(i + 1), Windows: []agent.Window{window(n, .5, 1e9)}})
				c.store.Pod(at, profiler.Pod{UID: uid(n), Node: node, Workload: w, Template: uint64(n % 3)})
				for _, u := range c.store.Changed(at, 2) {
					if i%3 == 0 {
						c.store.Failed(at, u)
					} else {
						c.store.Published(u)
					}
				}
				for _, shard := range c.store.Checkpoints(at, 1) {
					for _, saved := range shard.Checkpoints {
						_ = c.store.Restore(at, saved)
					}
				}
				if i%7 == 0 {
					c.store.Gone(at, uid(n))
				}
			}
		})
	}
	all.Wait()
	if st := c.store.Stats(); st.Workloads > 20 || st.WaitingWindows > 50 {
		t.Errorf("stats %+v", st)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []profiler.Config{{MaxWorkloads: -1}, {Forget: -1}, {Refresh: -1}} {
		var name *field.Error
		if _, err := profiler.New(c); !errors.As(err, &name) || !errors.Is(err, profiler.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Any checkpoint is accepted, or refused without effect.
func FuzzCheckpoint(f *testing.F) {
	p, err := profile.New(profile.Config{})
	if err != nil {
		f.Fatal(err)
	}
	if err := p.Observe(start, profile.Window{Pod: "a", Node: "n", Usage: profile.Usage{
		Age: time.Hour, Span: time.Minute, CPU: 30, Memory: 1e9, Pressure: true,
	}}); err != nil {
		f.Fatal(err)
	}
	f.Add("default", "Deployment", "web", uint64(1), int64(3), p.State())
	f.Add("", "", "", uint64(0), int64(-1), []byte{})
	f.Fuzz(func(t *testing.T, namespace, kind, name string, template uint64, pods int64, state []byte) {
		c := newCluster(t, profiler.Config{})
		err := c.store.Restore(c.at, profiler.Checkpoint{
			Workload: profile.Workload{Namespace: namespace, Kind: kind, Name: name}, Template: template, Pods: pods, State: state,
		})
		if n := c.store.Stats().Workloads; err != nil && n != 0 || err == nil && n != 1 {
			t.Fatalf("%d workloads, %v", n, err)
		}
		for _, u := range c.publish() {
			if err := u.Demand.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		c.store.State(c.at)
	})
}

// A recommendation names the containers of present pods, also a single one.
func TestRecommendationsNameContainers(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	if _, ok := c.store.Advise(c.at, deployment("web")); ok {
		t.Error("advice about a workload that nobody knows")
	}
	show := func(n int, names ...string) {
		c.store.Pod(c.at, profiler.Pod{UID: uid(n), Node: "a", Workload: deployment("web"), Always: true, Names: names})
	}
	show(1, "main")
	if _, ok := c.store.Advise(c.at, deployment("web")); ok {
		t.Error("advice before anything was measured")
	}
	named := func() (all []string) {
		t.Helper()
		advice, ok := c.store.Advise(c.at, deployment("web"))
		if !ok || advice.Stale || advice.Demand.Memory.Confidence < .5 {
			t.Fatalf("%+v, %v", advice, ok)
		}
		for _, r := range advice.Recommendations {
			all = append(all, fmt.Sprintf("%s %.0f", r.Container, r.Uncapped.CPU*10))
		}
		return all
	}
	c.send("a", window(1, .5, 1<<30))
	if diff := cmp.Diff([]string{"main 5"}, named()); diff != "" {
		t.Error(diff)
	}
	if got := c.publish(); len(got) != 1 || len(got[0].Recommendations) != 1 || got[0].Recommendations[0].Container != "main" {
		t.Errorf("published %+v", got)
	}
	if got := c.store.Peak(uid(1), "main"); got != 1<<30 {
		t.Errorf("peak %v", got)
	}
	if got := c.store.Peak(uid(2), "main"); got != 0 {
		t.Errorf("peak of a pod that nobody knows: %v", got)
	}
	// This is a pod of another template, whose containers have not been measured separately.
	show(2, "app", "proxy")
	if got := named(); got != nil {
		t.Errorf("recommended %v", got)
	}
	c.at = c.at.Add(profiler.StaleAfter)
	if advice, ok := c.store.Advise(c.at, deployment("web")); !ok || !advice.Stale {
		t.Errorf("after a day %+v, %v", advice, ok)
	}
}

// A workload that a Store does not know may be published already, until it is read.
func TestAgainIsPublished(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.store.Again(c.at, deployment("web"))
	c.pod(1, "a", deployment("web"))
	c.send("a", window(1, .5, 1<<30))
	if got := c.publish(); len(got) != 1 {
		t.Fatalf("published %v", names(got))
	}
	c.store.Again(c.at, deployment("web"))
	got := c.store.Changed(c.at, math.MaxInt)
	if len(got) != 1 {
		t.Fatalf("published %v", names(got))
	}
	c.store.Failed(c.at, got[0])
	if got := c.publish(); got != nil {
		t.Errorf("at once after a failure: %v", names(got))
	}
	// A window triggers another query some time after the failure.
	c.at = c.at.Add(time.Minute)
	c.send("a", window(1, .5, 1<<30))
	if got := c.publish(); len(got) != 1 {
		t.Errorf("published %v", names(got))
	}
	c.send("a", window(1, .5, 1<<30))
	if got := c.publish(); got != nil {
		t.Errorf("published once more: %v", names(got))
	}
	// Without a window a refresh does.
	c.store.Again(c.at, deployment("web"))
	for _, u := range c.store.Changed(c.at, math.MaxInt) {
		c.store.Failed(c.at, u)
	}
	c.store.Changed(c.at, math.MaxInt)
	c.at = c.at.Add(time.Hour)
	if got := c.publish(); len(got) != 1 {
		t.Errorf("at a refresh %v", names(got))
	}
}

// Throttling by a limit is not waiting for a core.
func TestHeldUpIsNotDemand(t *testing.T) {
	c := newCluster(t, profiler.Config{})
	c.pod(1, "a", deployment("web"))
	w := window(1, .2, 1e9)
	w.Stalled, w.Throttled, w.Periods, w.ThrottledPeriods = 30, 24, 600, 240
	c.send("a", w)
	if got := c.publish()[0].Demand.CPU.Amount; got < .3 || got > .33 {
		t.Errorf("%v cores, want what it used and waited for, .3", got)
	}
}
