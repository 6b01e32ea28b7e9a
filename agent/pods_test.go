package agent_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/reserve"
)

// see passes a list of pods to the node, as a pod source does.
func (n *node) see(pods ...agent.Pod) {
	n.t.Helper()
	n.keep(n.p.Pods(n.at, pods))
}

func (n *node) why() agent.Why {
	w, _ := n.p.Why()
	return w
}

func pod(key reserve.PodKey, s agent.PodState, starts int) agent.Pod {
	return agent.Pod{Key: key, State: s, Starts: starts}
}

// TestPodCountsFromItsFirstContainerToItsEnd steps a pod with an init container through its life and
// checks how it is counted.
func TestPodCountsFromItsFirstContainerToItsEnd(t *testing.T) {
	for _, known := range []bool{true, false} {
		n := newNode(t, config())
		n.see()
		n.samples(20, .1, .1)
		if known {
			n.p.Bound(n.at, agent.Bind{Pod: 7, Inits: 1, InitsKnown: true})
		}
		type counts struct{ N, Measured, Held int }
		expect := func(when string, want counts) {
			t.Helper()
			n.samples(10, .1, .1)
			w := n.why()
			if got := (counts{w.Pods, w.Measured, w.Held}); got != want || len(n.last().Pods) != want.N {
				t.Errorf("known %v, %s: %+v, %d absorbed; want %+v", known, when, got, len(n.last().Pods), want)
			}
		}
		n.see(pod(7, agent.PodPending, 0))
		expect("its cgroup exists", counts{})
		n.see(pod(7, agent.PodRunning, 1))
		expect("its init container runs", counts{1, 0, 1})
		n.see(pod(7, agent.PodStopped, 1))
		expect("between the two", counts{1, 0, 0})
		n.see(pod(7, agent.PodRunning, 2))
		if !known { // the lead has to pass first
			expect("its container has just begun", counts{1, 0, 1})
			n.samples(110, .1, .1)
		}
		expect("its container runs", counts{1, 1, 0})
		n.see(pod(7, agent.PodStopped, 2))
		expect("its container has ended", counts{1, 0, 0})
		if ends := n.p.State().Pace.Ends; ends != 0 {
			t.Errorf("known %v: got %v ends before the sandbox's end", known, ends)
		}
		n.see()
		expect("gone", counts{})
		if ends := n.p.State().Pace.Ends; ends < .9 || ends > 1 {
			t.Errorf("known %v: got %v ends after the pod's end", known, ends)
		}
	}
}

// A pod that ends before one of its own containers ran yields no run time.
func TestFailedInitIsNoEnd(t *testing.T) {
	n := newNode(t, config())
	n.see()
	n.samples(1, .1, .1)
	n.p.Bound(n.at, agent.Bind{Pod: 7, Inits: 2, InitsKnown: true})
	n.see(pod(7, agent.PodRunning, 1))
	n.samples(20, .1, .1)
	n.see(pod(7, agent.PodRunning, 2))
	n.samples(20, .1, .1)
	n.see()
	if s := n.p.State().Pace; s.Ends != 0 || s.Lived != 0 || s.Startup != 0 {
		t.Errorf("got run time %+v from a pod that never ran", s)
	}
}

// Pods that ran before the agent started are already in the usage.
func TestPodsOlderThanTheAgentCount(t *testing.T) {
	n := newNode(t, config())
	n.see(pod(1, agent.PodRunning, 1), pod(2, agent.PodStopped, 1), pod(3, agent.PodPending, 0))
	n.samples(1, .5, .1)
	if w := n.why(); w.Pods != 2 || w.Measured != 1 || w.Held != 0 {
		t.Errorf("pods %d, measured %d, held %d; want 2, 1, 0", w.Pods, w.Measured, w.Held)
	}
}

// TestLead learns how long init containers take from pods without a notice.
func TestLead(t *testing.T) {
	n := newNode(t, config())
	n.see()
	lead := func() time.Duration { return n.p.State().Pace.Lead }
	if lead() != pipeline.DefaultInitLead {
		t.Fatalf("initial lead: got %v", lead())
	}
	key := reserve.PodKey(0)
	for range 20 { // pods with a single container
		key++
		n.see(pod(key, agent.PodRunning, 1))
		n.samples(5, .1, .1)
		n.see()
	}
	if lead() > 50*time.Millisecond {
		t.Errorf("after 20 pods without init containers: got %v", lead())
	}
	key++
	n.see(pod(key, agent.PodRunning, 1))
	n.samples(30, .1, .1)
	n.see(pod(key, agent.PodStopped, 1))
	n.samples(5, .1, .1)
	n.see(pod(key, agent.PodRunning, 2))
	n.samples(1, .1, .1)
	if lead() != 3500*time.Millisecond {
		t.Errorf("after an init container of 3 s and a gap of .5 s: got %v", lead())
	}
	n.samples(900, .1, .1)
	n.see(pod(key, agent.PodStopped, 2))
	n.samples(1, .1, .1)
	n.see(pod(key, agent.PodRunning, 3))
	n.samples(1, .1, .1)
	if lead() > 3500*time.Millisecond {
		t.Errorf("after a crash: got %v", lead())
	}
}

// A late notice still decides which containers count.
func TestLateNotice(t *testing.T) {
	n := newNode(t, config())
	n.see()
	n.samples(1, .1, .1)
	n.see(pod(1, agent.PodRunning, 1), pod(2, agent.PodRunning, 2), pod(3, agent.PodRunning, 1))
	for key, inits := range map[reserve.PodKey]int{1: 0, 2: 1, 3: -1} {
		n.p.Bound(n.at, agent.Bind{Pod: key, Inits: inits, InitsKnown: true})
	}
	n.samples(10, .1, .1)
	if w := n.why(); w.Measured != 2 || w.Held != 1 {
		t.Errorf("got measured %d, held %d; want 2 and the one with the contradictory notice", w.Measured, w.Held)
	}
}

// TestHeldPodsStopTheEstimator: usage of an init container is neither a pod's cost nor a base load.
func TestHeldPodsStopTheEstimator(t *testing.T) {
	n := newNode(t, config())
	n.see()
	n.samples(100, .1, .1)
	before := n.last().Channels[0]
	n.p.Bound(n.at, agent.Bind{Pod: 1, Inits: 1, InitsKnown: true})
	n.see(pod(1, agent.PodRunning, 1))
	n.samples(50, .6, .1)
	after := n.last()
	if after.Channels[0].Capacity != before.Capacity || after.Channels[0].Cost != before.Cost || !after.Flags.Churn {
		t.Errorf("after an init container of 5 s: got %+v, want %+v", after.Channels[0], before)
	}
}

func TestTeardownIsBridged(t *testing.T) {
	n := newNode(t, config())
	n.see()
	for key := range reserve.PodKey(60) {
		n.p.Bound(n.at, agent.Bind{Pod: key, InitsKnown: true})
		n.samples(5, .1, .1)
		n.see(pod(key, agent.PodRunning, 1))
		n.samples(5, .1, .1)
		n.see(pod(key, agent.PodStopped, 1))
		n.samples(8, .1, .1)
		n.see()
	}
	w := n.why()
	if !near(w.Pace.Teardown, .8, .02) || !near(w.Pace.Startup, .5, .02) || !near(w.Pace.Run, .5, .1) {
		t.Errorf("start-up %.2f s, run %.2f s, teardown %.2f s; want .5, .5, .8", w.Pace.Startup, w.Pace.Run, w.Pace.Teardown)
	}
	// s·(L + D)·λ with at most four slots; without D it is at most 4.
	if got, most := n.last().Allowance, 4*(.5+.8)/.5; got < 6 || got > most {
		t.Errorf("allowance %.2f, want 6 to %.2f", got, most)
	}
}

// An image pull counts as four starts, not as a hundred, and a start of a minute is ignored.
func TestSlowStartIsBounded(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		want  float64
	}{{2 * time.Second, 1.1}, {50 * time.Second, 1.3}, {70 * time.Second, 0}} {
		n := newNode(t, config())
		n.see()
		n.p.Bound(n.at, agent.Bind{Pod: 1, InitsKnown: true})
		n.at = n.at.Add(tt.after)
		n.see(pod(1, agent.PodRunning, 1))
		if got := n.p.State().Pace.Startup; !near(got, tt.want, 1e-9) {
			t.Errorf("start of %v: got mean %v, want %v", tt.after, got, tt.want)
		}
	}
}

func TestBadPodsChangeNothing(t *testing.T) {
	n := newNode(t, config())
	n.pods(2)
	n.samples(15, .3, .1)
	before := n.p.State()
	for name, bad := range map[string][]agent.Pod{
		"state":  {pod(1, 3, 1)},
		"starts": {pod(1, agent.PodRunning, -1)},
		"many":   slices.Repeat([]agent.Pod{pod(1, agent.PodRunning, 1)}, 1_000_001),
	} {
		var fe *field.Error
		if _, _, err := n.p.Pods(n.at, bad); !errors.As(err, &fe) || !errors.Is(err, agent.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := cmp.Diff(before, n.p.State(), unexported); d != "" {
		t.Errorf("state:\n%s", d)
	}
}

func TestPodStateString(t *testing.T) {
	for s, want := range []string{"pending", "running", "stopped", "unknown"} {
		if got := agent.PodState(s).String(); got != want {
			t.Errorf("%d is %q, want %q", s, got, want)
		}
	}
}

// TestRepeatedPodListsDoNotAllocate: a node that starts pods gets the whole list several times a
// second.
func TestRepeatedPodListsDoNotAllocate(t *testing.T) {
	n := newNode(t, config())
	n.samples(20, .1, .1)
	var keys []reserve.PodKey
	for k := range 50 {
		keys = append(keys, reserve.PodKey(50-k))
	}
	pods := agent.RunningPods(keys...)
	tell := func() {
		n.at = n.at.Add(time.Second)
		if _, _, err := n.p.Pods(n.at, pods); err != nil {
			t.Fatal(err)
		}
	}
	tell()
	if got := testing.AllocsPerRun(100, tell); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestPodsKeepTheirRecords: pods are inserted and removed anywhere in the list, beside a reference that
// remembers each pod's start.
func TestPodsKeepTheirRecords(t *testing.T) {
	n := newNode(t, config())
	random := rand.New(rand.NewPCG(1, 2))
	ran := map[reserve.PodKey]time.Time{}
	for range 300 {
		n.at = n.at.Add(time.Second)
		var pods []agent.Pod
		for key := range reserve.PodKey(20) {
			if random.IntN(3) > 0 {
				pods = append(pods, pod(key, agent.PodRunning, 1+random.IntN(3)))
			}
		}
		want := map[reserve.PodKey]time.Time{}
		for _, p := range pods {
			want[p.Key] = n.at
			if at, was := ran[p.Key]; was {
				want[p.Key] = at
			}
		}
		ran = want
		shuffled := slices.Clone(pods)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		n.see(shuffled...)
		var got []agent.Pod
		for _, r := range n.p.State().Pods {
			got = append(got, r.Pod)
			if !r.RanAt.Equal(ran[r.Key]) {
				t.Fatalf("pod %d: got start %v, want %v", r.Key, r.RanAt, ran[r.Key])
			}
		}
		if diff := cmp.Diff(pods, got); diff != "" {
			t.Fatalf("pods (-want +got):\n%s", diff)
		}
	}
}
