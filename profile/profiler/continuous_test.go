package profiler_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// tuned is a cluster of three services, each of one pod, two of which are one application by their
// label, whose profiles are published.
func tuned(t *testing.T, c profiler.ContinuousConfig) *cluster {
	t.Helper()
	k := newCluster(t, profiler.Config{Continuous: c})
	for n, s := range []struct{ name, partOf string }{{"web", "shop"}, {"cart", "shop"}, {"other", ""}} {
		k.store.Pod(k.at, profiler.Pod{UID: uid(n), Node: "a", Workload: deployment(s.name), Always: true, PartOf: s.partOf})
	}
	k.minute([3]uint32{})
	k.publish()
	return k
}

// minute returns a window of each of three services, which limits throttled for some of 600
// periods.
func (c *cluster) minute(throttled [3]uint32) {
	for n := range throttled {
		cores := .2
		if n == 1 && c.at.Minute()%10 == 5 { // the second takes more at times
			cores = .8
		}
		w := window(n, cores, 1e9)
		w.Periods, w.ThrottledPeriods = 600, throttled[n]
		c.send("a", w)
	}
}

func (c *cluster) tune() int {
	c.t.Helper()
	n, err := c.store.Tune(c.at)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// step runs ten equal minutes, and returns what is published then, by name.
func (c *cluster) step(throttled [3]uint32) map[string]profiler.Update {
	c.t.Helper()
	for range 10 {
		c.at = c.at.Add(time.Minute)
		c.minute(throttled)
	}
	c.tune()
	all := map[string]profiler.Update{}
	for _, u := range c.publish() {
		all[u.Workload.Name] = u
	}
	return all
}

func TestContinuousCorrects(t *testing.T) {
	for _, mode := range []profiler.Mode{profiler.Observe, profiler.On} {
		c := tuned(t, profiler.ContinuousConfig{Mode: mode})
		learnt, _ := c.store.Advise(c.at, deployment("web"))
		c.tune() // the first step is after a time
		got := c.step([3]uint32{12, 0, 0})
		web, cart, other := got["web"], got["cart"], got["other"]
		if web.Factors == nil || cart.Factors == nil || other.Factors == nil {
			t.Fatalf("%s: published %v", mode, got)
		}
		if f := []float64{web.Factors.CPU, cart.Factors.CPU, other.Factors.CPU}; math.Abs(f[0]-1.2) > 1e-9 || f[1] >= 1 || f[2] != 1 || web.Factors.Memory != 1 {
			t.Errorf("%s: factors %v", mode, f)
		}
		if web.Application != "shop" || cart.Application != "shop" || other.Application != "other" || web.Corrected != (mode == profiler.On) {
			t.Errorf("%s: %+v, %q, %q", mode, web, cart.Application, other.Application)
		}
		want := learnt.Recommendations[0].Target
		if mode == profiler.On {
			want.CPU *= 1.2
		}
		advice, _ := c.store.Advise(c.at, deployment("web"))
		for _, r := range []profile.Recommendation{web.Recommendations[0], advice.Recommendations[0]} {
			if math.Abs(r.Target.CPU/want.CPU-1) > 1e-9 || r.Target.Memory != want.Memory || r.LowerBound.CPU > r.Target.CPU || r.UpperBound.CPU < r.Target.CPU {
				t.Errorf("%s: recommended %+v, want %+v", mode, r, want)
			}
		}
		if again := c.step([3]uint32{}); len(again) != 0 && again["web"].Factors.CPU > 1.2 {
			t.Errorf("%s: what was held up before counts again: %v", mode, again)
		}
	}
}

func TestContinuousIsOff(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{})
	if got := c.store.TunesEvery(); got != 0 {
		t.Errorf("steps every %v", got)
	}
	if err := c.store.Connected(c.at, time.Minute, []connection.Flow{{From: deployment("web"), To: deployment("cart"), Request: 1}}); err != nil {
		t.Error(err)
	}
	for name, u := range c.step([3]uint32{300, 0, 0}) {
		if u.Factors != nil || u.Application != "" || u.Connections != nil {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

// No step is early, and a first one without elapsed time is none.
func TestContinuousSteps(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.On, Rules: continuous.Config{Every: time.Minute}})
	if got := c.store.TunesEvery(); got != time.Minute {
		t.Errorf("steps every %v", got)
	}
	c.minute([3]uint32{300, 0, 0})
	if got := c.tune(); got != 0 {
		t.Errorf("%d changed at once", got)
	}
	c.at = c.at.Add(30 * time.Second)
	if got := c.tune(); got != 0 {
		t.Errorf("%d changed half a minute later", got)
	}
	c.at = c.at.Add(29 * time.Second)
	if got := c.tune(); got != 3 {
		t.Errorf("%d changed after a minute, with their applications", got)
	}
}

// Calls between workloads make applications of those without a label, and are published.
func TestConnections(t *testing.T) {
	bare := func(name string) profile.Workload { return profile.Workload{Namespace: "default", Name: name} }
	flows := []connection.Flow{
		{From: bare("other"), To: bare("third"), Request: 100, Response: 900},
		{From: bare("web"), To: bare("outside"), Request: 5},
	}
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.Observe})
	c.pod(9, "a", deployment("third"))
	c.send("a", window(9, .1, 1e9))
	c.tune()
	if err := c.store.Connected(c.at, time.Minute, flows); err != nil {
		t.Fatal(err)
	}
	got := c.step([3]uint32{})
	want := []connection.Flow{{From: deployment("other"), To: deployment("third"), Request: 100, Response: 900}}
	if diff := cmp.Diff(want, got["other"].Connections); diff != "" {
		t.Error(diff)
	}
	sent := []connection.Flow{{From: deployment("third"), To: deployment("other"), Request: 900}}
	if diff := cmp.Diff(sent, c.store.Bandwidths(deployment("third"))); diff != "" || !c.store.HasFlows() {
		t.Errorf("heard %v: %s", c.store.HasFlows(), diff)
	}
	if got["third"].Application != "other" || got["web"].Connections[0].To != bare("outside") {
		t.Errorf("third is of %q, web calls %v", got["third"].Application, got["web"].Connections)
	}
	bad := []connection.Flow{{From: bare("web"), To: bare("cart"), Request: -1}}
	if err := c.store.Connected(c.at, time.Minute, bad); !errors.Is(err, profile.ErrInvalid) {
		t.Error(err)
	}
}

// An OOM kill raises memory.
func TestKillsRaiseMemory(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.On})
	c.tune()
	w := window(0, .2, 1e9)
	w.OOMKills = 1
	c.send("a", w)
	if f := c.step([3]uint32{})["web"].Factors; f == nil || f.Memory != 1.2 || f.CPU != 1 {
		t.Errorf("factors %+v", f)
	}
}

// So does a hundredth of the time spent waiting for memory, as read by agents.
func TestStallsRaiseMemory(t *testing.T) {
	for _, test := range []struct {
		stalled float64
		known   bool
		want    float64
	}{{6, true, 1.2}, {5.9, true, 1}, {6, false, 1}} {
		c := tuned(t, profiler.ContinuousConfig{Mode: profiler.On})
		c.store.Pod(c.at, profiler.Pod{UID: uid(0), Node: "a", Workload: deployment("web"), Always: true, PartOf: "shop", Containers: []profiler.Container{{Key: 5, Name: "main"}}})
		c.tune()
		for n := range 10 {
			c.at = c.at.Add(time.Minute)
			w := window(0, .2, 1e9)
			w.MemoryStalled, w.MemoryPressure = 0, test.known
			if n == 3 {
				w.MemoryStalled = test.stalled
			}
			container := w
			container.Container, container.MemoryStalled = 5, 60 // it is in the pod's
			c.send("a", w, container)
		}
		c.tune()
		for _, u := range c.publish() {
			if u.Workload == deployment("web") && math.Abs(u.Factors.Memory-test.want) > 1e-9 {
				t.Errorf("%+v: factors %+v", test, u.Factors)
			}
		}
	}
}

// Without any report of a connection it is unknown whether there are some.
func TestNobodyTellsWhoCallsWhom(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.Observe})
	c.tune()
	for _, received := range [][]connection.Flow{nil, {{From: deployment("a"), To: deployment("b"), Request: 1}}, nil} {
		known := c.store.HasFlows()
		if err := c.store.Connected(c.at, 10*time.Minute, received); err != nil {
			t.Fatal(err)
		}
		if got := c.store.HasFlows(); got != (known || received != nil) {
			t.Errorf("heard of %d: %v", len(received), got)
		}
	}
}

// The owner's bounds apply to the result of a factor, not to its input: if they were applied
// before, a service's use and target would be equal, and its bounds no longer around it.
func TestContinuousWithinBounds(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.On})
	free, _ := c.store.Advise(c.at, deployment("web"))
	of := free.Recommendations[0]
	most := .8 * of.Target.CPU
	bounds := profile.Bounds{Max: profile.Amounts{CPU: most}}
	c.store.Observed(c.at, profiler.Object{Workload: deployment("web"), Spec: profiler.Spec{Bounds: bounds}})
	c.tune()
	for range 5 { // web is held up all the time: all that the bound allows, and no more
		c.step([3]uint32{600, 0, 0})
	}
	held, _ := c.store.Advise(c.at, deployment("web"))
	if r := held.Recommendations[0]; r.Target.CPU != most || math.Abs(r.Uncapped.CPU/of.Uncapped.CPU-1) > .01 {
		t.Errorf("held up within its bound: %+v", r)
	}
	// A raised bound has an effect at once, not after hours.
	wider := profile.Bounds{Max: profile.Amounts{CPU: 100}}
	c.store.Observed(c.at, profiler.Object{Workload: deployment("web"), Spec: profiler.Spec{Bounds: wider}})
	now, _ := c.store.Advise(c.at, deployment("web"))
	if r := now.Recommendations[0]; r.Target.CPU > 1.01*of.Target.CPU {
		t.Errorf("with another bound at once: %+v", r)
	}
	// After it is lowered, the bounds are around the target.
	low := tuned(t, profiler.ContinuousConfig{Mode: profiler.On})
	low.store.Observed(low.at, profiler.Object{
		Workload: deployment("cart"), At: low.at, Factors: continuous.Factors{CPU: .5, Memory: 1, At: low.at},
		Spec: profiler.Spec{Bounds: profile.Bounds{Max: profile.Amounts{CPU: .15}}},
	})
	advice, _ := low.store.Advise(low.at, deployment("cart"))
	if r := advice.Recommendations[0]; r.LowerBound.CPU > r.Target.CPU || r.UpperBound.CPU < r.Target.CPU || r.Target.CPU >= .15 {
		t.Errorf("lowered within its bound: %+v", r)
	}
}

// A factor applies to at least 25 millicores, as in the simulator.
func TestContinuousIsOnSomething(t *testing.T) {
	c := newCluster(t, profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.On}})
	c.pod(0, "a", deployment("seldom"))
	c.store.Observed(c.at, profiler.Object{Workload: deployment("seldom"), At: c.at, Factors: continuous.Factors{CPU: 4, Memory: 1, At: c.at}})
	c.send("a", window(0, .0001, 1e9))
	advice, ok := c.store.Advise(c.at, deployment("seldom"))
	if !ok || math.Abs(advice.Recommendations[0].Target.CPU-.1) > 1e-9 {
		t.Errorf("recommended %+v", advice.Recommendations)
	}
}

// The application that a workload's owner names has priority over its pods' label.
func TestApplicationOfTheOwner(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.On})
	for _, name := range []string{"cart", "other"} {
		c.store.Observed(c.at, profiler.Object{Workload: deployment(name), Spec: profiler.Spec{Application: "front"}})
	}
	c.tune()
	got := c.step([3]uint32{0, 0, 12})
	for name, want := range map[string]string{"web": "shop", "other": "front", "cart": "front"} {
		if got[name].Application != want {
			t.Errorf("%s is a part of %q, want %q", name, got[name].Application, want)
		}
	}
	// The application's healthy service is lowered beside the throttled one.
	if f := got["cart"].Factors.CPU; f >= 1 {
		t.Errorf("cart × %v", f)
	}
	c.store.Observed(c.at, profiler.Object{Workload: deployment("cart")})
	if got := c.step([3]uint32{})["cart"].Application; got != "shop" {
		t.Errorf("when its owner says nothing any more it is a part of %q", got)
	}
}

// A process that begins continues from the published state.
func TestFactorsAreTakenOver(t *testing.T) {
	c := newCluster(t, profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.On}})
	published := continuous.Factors{CPU: 2, Memory: 1.5, At: start}
	c.store.Observed(c.at, profiler.Object{Workload: deployment("web"), At: start, Factors: published})
	c.pod(0, "a", deployment("web"))
	c.send("a", window(0, .2, 1e9))
	first, ok := c.store.Advise(c.at, deployment("web"))
	if !ok || math.Abs(first.Recommendations[0].Target.CPU/first.Recommendations[0].Uncapped.CPU-1) > 1e-9 || first.Recommendations[0].Target.CPU < .4 {
		t.Errorf("recommended %+v", first)
	}
	c.store.Observed(c.at, profiler.Object{Workload: deployment("web"), At: start, Factors: continuous.Factors{CPU: 3, Memory: 1, At: start}})
	if again, _ := c.store.Advise(c.at, deployment("web")); again.Recommendations[0] != first.Recommendations[0] {
		t.Errorf("our own, seen again, makes %+v", again.Recommendations)
	}
}

func TestContinuousConfig(t *testing.T) {
	for _, c := range []profiler.ContinuousConfig{{Mode: "x"}, {Mode: profiler.On, Rules: continuous.Config{Every: -1}}} {
		if _, err := profiler.New(profiler.Config{Continuous: c}); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// kept returns the due checkpoints, by workload.
func (c *cluster) kept() map[profile.Workload]profiler.Checkpoint {
	all := map[profile.Workload]profiler.Checkpoint{}
	for _, s := range c.store.Checkpoints(c.at, profiler.ShardCount) {
		for _, one := range s.Checkpoints {
			all[one.Workload] = one
		}
	}
	return all
}

// Calls are in the checkpoints, and a process that begins with them knows them before it receives
// anything.
func TestConnectionsAreKept(t *testing.T) {
	on := profiler.ContinuousConfig{Mode: profiler.Observe}
	c := tuned(t, on)
	flows := []connection.Flow{
		{From: deployment("web"), To: deployment("cart"), Request: 100, Response: 900},
		{From: deployment("web"), To: profile.Workload{Namespace: "else", Name: "outside"}, Request: 5},
		{From: deployment("other"), To: deployment("web"), Request: 7, Response: 1},
	}
	if err := c.store.Connected(c.at, time.Minute, flows); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(10 * time.Minute)
	kept := c.kept()
	if len(kept) != 3 || kept[deployment("cart")].Calls != nil {
		t.Fatalf("kept %v", kept)
	}
	next := newCluster(t, profiler.Config{Continuous: on})
	next.at = c.at
	for _, one := range kept {
		if err := next.store.Restore(next.at, one); err != nil {
			t.Fatal(err)
		}
		if err := next.store.RestoreCalls(next.at, one); err != nil {
			t.Fatal(err)
		}
	}
	published := map[string][]connection.Flow{}
	for _, u := range next.publish() {
		published[u.Workload.Name] = u.Connections
	}
	want := map[string][]connection.Flow{"web": flows[:2], "other": flows[2:], "cart": nil}
	if diff := cmp.Diff(want, published, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("published next: %s", diff)
	}
	if next.store.HasFlows() {
		t.Error("what was kept counts as heard: what is not in it would be deleted")
	}
	// Malformed calls in a checkpoint do not cost the profile.
	bad := kept[deployment("web")]
	bad.Calls = []byte("{}")
	if err := next.store.RestoreCalls(next.at, bad); !errors.Is(err, profile.ErrVersion) {
		t.Error(err)
	}
	// With the continuous profiler off, connections are not read.
	off := newCluster(t, profiler.Config{})
	if err := off.store.RestoreCalls(off.at, bad); err != nil {
		t.Error(err)
	}
}

// A workload with new calls since its shard was written is due again, measured or not.
func TestNewConnectionsAreUnsaved(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.Observe})
	c.at = c.at.Add(10 * time.Minute)
	c.kept()
	c.at = c.at.Add(time.Hour)
	if kept := c.kept(); len(kept) != 0 {
		t.Fatalf("%d to keep without news", len(kept))
	}
	if err := c.store.Connected(c.at, time.Minute, []connection.Flow{{From: deployment("web"), To: deployment("cart"), Request: 1}}); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(10 * time.Minute)
	if kept := c.kept(); kept[deployment("web")].Calls == nil {
		t.Errorf("kept %v", kept)
	}
}

// Calls use the room that profiles leave in a checkpoint, and displace none.
func TestConnectionsHaveTheRoomThatIsLeft(t *testing.T) {
	const workloads, most = 3000, 900 << 10
	c := newCluster(t, profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.Observe}}.WithBounds(workloads, 0))
	for n := range workloads {
		c.pod(n, "a", deployment(fmt.Sprint(n)))
		c.send("a", window(n, .5, 1e9))
	}
	c.at = c.at.Add(10 * time.Minute)
	fullest := profiler.Shard{}
	for _, s := range c.store.Checkpoints(c.at, profiler.ShardCount) {
		if len(s.Checkpoints) > len(fullest.Checkpoints) {
			fullest = s
		}
	}
	var flows []connection.Flow
	for _, one := range fullest.Checkpoints {
		for i := range 256 {
			to := profile.Workload{Namespace: strings.Repeat("n", 200), Kind: strings.Repeat("k", 200), Name: fmt.Sprintf("%0200d", i)}
			flows = append(flows, connection.Flow{From: one.Workload, To: to, Request: 1})
		}
	}
	if err := c.store.Connected(c.at, time.Minute, flows); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(10 * time.Minute)
	shards := c.store.Checkpoints(c.at, profiler.ShardCount)
	if len(shards) != 1 || len(shards[0].Checkpoints) != len(fullest.Checkpoints) {
		t.Fatalf("%d shards, the first of %d of %d", len(shards), len(shards[0].Checkpoints), len(fullest.Checkpoints))
	}
	size, with := 0, 0
	for _, one := range shards[0].Checkpoints {
		size += len(one.State) + len(one.Calls)
		if one.Calls != nil {
			with++
		}
	}
	if with == 0 || with == len(fullest.Checkpoints) || size > most {
		t.Errorf("%d of %d workloads with calls, %d bytes", with, len(fullest.Checkpoints), size)
	}
}

// A process that begins does not publish that a workload is part of no application, until it knows.
func TestApplicationsAreTakenOver(t *testing.T) {
	c := newCluster(t, profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.Observe}})
	c.store.Observed(c.at, profiler.Object{Workload: deployment("web"), At: start, Application: "shop"})
	c.pod(0, "a", deployment("web"))
	c.send("a", window(0, .2, 1e9))
	if got := c.publish(); len(got) != 1 || got[0].Application != "shop" {
		t.Errorf("published %+v", got)
	}
	c.tune()
	if got := c.step([3]uint32{})["web"].Application; got != "web" {
		t.Errorf("then it is a part of %q", got)
	}
}
