package profiler_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// tuned is a cluster of three services, each of one pod, two of which are one
// application by their label, whose profiles are published.
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

// minute is one of each of three services, in which limits held them up for some of 600
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

// step is ten minutes alike, and what is published then, by name.
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

// Steps are not taken early, nor a first one of no time.
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

// Who calls whom makes applications of what has no label, and is published.
func TestConnections(t *testing.T) {
	bare := func(name string) profile.Workload { return profile.Workload{Namespace: "default", Name: name} }
	flows := []connection.Flow{
		{From: bare("other"), To: bare("third"), Request: 100, Response: 900},
		{From: bare("web"), To: bare("outside"), Request: 5},
	}
	for _, literal := range []bool{false, true} {
		c := tuned(t, profiler.ContinuousConfig{Mode: profiler.Observe, Literal: literal})
		c.pod(9, "a", deployment("third"))
		c.send("a", window(9, .1, 1e9))
		c.tune()
		if err := c.store.Connected(c.at, time.Minute, flows); err != nil {
			t.Fatal(err)
		}
		got := c.step([3]uint32{})
		want := []connection.Flow{{From: deployment("other"), To: deployment("third"), Request: 100, Response: 900}}
		if diff := cmp.Diff(want, got["other"].Connections); diff != "" {
			t.Errorf("literal %v: %s", literal, diff)
		}
		application := "other"
		if literal {
			application = "third"
		}
		if got["third"].Application != application || got["web"].Connections[0].To != bare("outside") {
			t.Errorf("literal %v: third is of %q, web calls %v", literal, got["third"].Application, got["web"].Connections)
		}
		bad := []connection.Flow{{From: bare("web"), To: bare("cart"), Request: -1}}
		if err := c.store.Connected(c.at, time.Minute, bad); !errors.Is(err, profile.ErrInvalid) {
			t.Error(err)
		}
	}
}

// Where a Prometheus server tells, windows do not.
func TestThrottledElsewhere(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.On, Elsewhere: true})
	c.tune()
	c.store.Throttled([]continuous.Throttling{
		{Namespace: "default", Pod: "web-5d4f8c7b9-x2x4v", Share: .02}, {Namespace: "default", Pod: "cart-5d4f8c7b9-x2x4v", Share: .0},
		{Namespace: "else", Pod: "other-5d4f8c7b9-x2x4v", Share: 1}, {Namespace: "default", Pod: "other-a-b-c", Share: 1}, {Namespace: "default", Pod: "other", Share: math.NaN()},
	})
	got := c.step([3]uint32{0, 0, 600})
	if f := got["web"].Factors.CPU; math.Abs(f-1.2) > 1e-9 {
		t.Errorf("web × %v", f)
	}
	if f := got["cart"].Factors.CPU; f >= 1 {
		t.Errorf("cart × %v", f)
	}
	if f := got["other"].Factors.CPU; f != 1 {
		t.Errorf("other × %v, by a window, another's or a number that is none", f)
	}
}

// A kill for want of memory raises memory, also where throttling is known elsewhere.
func TestKillsRaiseMemory(t *testing.T) {
	c := tuned(t, profiler.ContinuousConfig{Mode: profiler.On, Elsewhere: true})
	c.tune()
	w := window(0, .2, 1e9)
	w.OOMKills = 1
	c.send("a", w)
	if f := c.step([3]uint32{})["web"].Factors; f == nil || f.Memory != 1.2 || f.CPU != 1 {
		t.Errorf("factors %+v", f)
	}
}

// A process that begins goes on with what was published.
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
