package plugin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// deciding returns a cluster whose scheduler counts pods with their profiled demand.
func deciding(t testing.TB, clock *clock, nodes int, s *profileStore, objects ...runtime.Object) *cluster {
	t.Helper()
	return newCluster(t, setup{
		nodes: nodes, objects: objects, args: plugin.SpazioArgs{Profiles: "On", MaxAge: metav1.Duration{Duration: time.Hour}},
		options: plugin.HubOptions{Now: clock.Now, Profiles: s, ProfilesRetry: 10 * time.Millisecond, Random: func() float64 { return 0 }},
	})
}

func (c *cluster) reserve(pod *v1.Pod, node string) {
	c.t.Helper()
	state, feasible, status := c.attempt(pod, c.infos)
	if len(feasible) == 0 {
		c.t.Fatalf("no node fits %s: %v", pod.Name, reasons(status))
	}
	if status := c.Reserve(c.t.Context(), state, pod, node); !status.IsSuccess() {
		c.t.Fatalf("%s: %v", pod.Name, reasons(status))
	}
}

func reasons(s *fwk.Status) []string {
	if s == nil {
		return nil
	}
	return s.Reasons()
}

// feasible returns the names of the nodes that a pod may go to.
func (c *cluster) feasible(pod *v1.Pod) []string {
	_, nodes, _ := c.attempt(pod, c.infos)
	var names []string
	for _, info := range nodes {
		names = append(names, info.Node().Name)
	}
	return names
}

// TestKnownPodsAsTypicalOnes: if pods are so short-lived that some are admitted ahead of confirmation,
// a profiled pod is ranked as a typical one, and also admitted as one if it takes the typical CPU;
// elsewhere it counts with its own demand.
func TestKnownPodsAsTypicalOnes(t *testing.T) {
	const cores = .5
	roomy, available := nodeName(0), nodeName(1)
	both := []string{roomy, available}
	for _, test := range []struct {
		name                      string
		allowance, typical, first float64 // typical pods that fit on the first
		feasible                  []string
		best                      string
	}{
		{"by its demand", 0, 0, .5, both, roomy},
		{"ahead of confirmation", 2, 0, .5, both, available},
		{"typical, without room", 0, 1.1 * cores, .5, []string{available}, available},
		{"typical", 0, 1.1 * cores, 2, both, available},
		{"not typical", 0, 4 * cores, .5, both, roomy},
		{"less than typical and ahead of confirmation", 2, 4 * cores, .5, both, available},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := newClock()
			pod := podOfDeployment(1, "web")
			c := deciding(t, clock, 2, newProfileStore(profileOf("web", clock.Now(), cores, gib)), pod)
			client := c.dial()
			// The first has more in all, and less for typical pods.
			for i, r := range []agent.Report{measured(test.first), measured(8)} {
				r.Channels[0].Room, r.Allowance, r.TypicalCPU = .9-float64(i)/5, test.allowance, test.typical
				c.open(client, nodeName(i)).settle(r)
			}
			c.workload(pod, known("web", cores, gib, 1))
			if diff := cmp.Diff(test.feasible, c.feasible(pod)); diff != "" {
				t.Errorf("feasible (-want +got):\n%s", diff)
			}
			state, feasible, _ := c.attempt(pod, c.infos)
			scores, err := c.scores(state, pod, feasible)
			if err != nil || scores[test.best] != 100 {
				t.Errorf("scores %v, %v: want %s to be the best", scores, err, test.best)
			}
			for name, score := range scores {
				if name != test.best && score >= 100 {
					t.Errorf("%s scores %d, too", name, score)
				}
			}
		})
	}
}

// TestProfilesDecide: a pod goes where its own demand fits, whatever room there is for a typical one,
// and pods in flight count with their demand.
func TestProfilesDecide(t *testing.T) {
	clock := newClock()
	heavy, light, stranger := podOfDeployment(1, "heavy"), podOfDeployment(2, "light"), podOfDeployment(3, "stranger")
	c := deciding(t, clock, 3, newProfileStore(profileOf("heavy", clock.Now(), .5, 9*gib), profileOf("light", clock.Now(), .125, gib/4)), heavy, light, stranger)
	client := c.dial()
	roomy, small := measured(4), measured(.5) // the latter has some room, but none for a typical pod
	small.Channels[0].Room, small.Channels[1].Room = .45, .05
	half := measured(4)
	half.Channels[1].Room = .5
	for i, r := range []agent.Report{roomy, small, half} {
		c.open(client, nodeName(i)).settle(r)
	}
	c.workload(heavy, known("heavy", .5, 9*gib, 1))
	c.workload(light, known("light", .125, gib/4, 1))

	for _, test := range []struct {
		pod  *v1.Pod
		want []string
	}{
		{heavy, []string{nodeName(0)}},
		{light, []string{nodeName(0), nodeName(1), nodeName(2)}},
		{stranger, []string{nodeName(0), nodeName(2)}},
	} {
		if diff := cmp.Diff(test.want, c.feasible(test.pod)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.pod.Name, diff)
		}
	}
	state, feasible, _ := c.attempt(light, c.infos)
	scores, err := c.scores(state, light, feasible)
	if err != nil || scores[nodeName(0)] != 100 || scores[nodeName(1)] >= scores[nodeName(2)] || scores[nodeName(2)] >= 100 {
		t.Errorf("scores %v, %v: want more room to score higher", scores, err)
	}

	// Two cycles saw the same room; the second finds it taken.
	other := podOfDeployment(4, "heavy")
	late, _, _ := c.attempt(other, c.infos)
	c.reserve(heavy, nodeName(0))
	if status := c.Reserve(t.Context(), late, other, nodeName(0)); status.IsSuccess() || !slices.Contains(reasons(status), "node node-0000 changed during scheduling: no memory") {
		t.Errorf("second pod of 9 ± 4.5 GiB on 16: got %v", reasons(status))
	}
	if _, _, status := c.attempt(other, c.infos); status.IsSuccess() || !cmp.Equal(reasons(status), []string{"3 node(s) without enough memory for what the pod is expected to take"}) {
		t.Errorf("got reasons %v", reasons(status))
	}
	e := c.explain(light)
	if e.Nodes[0].Reason != "admitted" || e.Nodes[1].Reason != "admitted" || e.Nodes[0].Score == nil || !e.Workload.Decides {
		t.Errorf("got explanation %+v", e.Nodes)
	}
	if diff := cmp.Diff(map[string]float64{"cpu": .125, "memory": .25}, e.Nodes[1].Takes); diff != "" || e.Nodes[1].Binding != "memory" {
		t.Errorf("got binding %q, demand (-want +got):\n%s", e.Nodes[1].Binding, diff)
	}
	if n := e.Nodes[0]; n.Cores == nil || *n.Cores != 7.5 || n.Bytes == nil || *n.Bytes != 7*gib {
		t.Errorf("got remaining %v and %v", n.Cores, n.Bytes)
	}
	if e := c.explain(stranger); e.Nodes[0].Reason != "admitted" || e.Nodes[1].Reason != "no room" || e.Nodes[1].Score != nil {
		t.Errorf("got explanation %+v", e.Nodes)
	}
}

// TestRankedAsTypicalAhead: a profiled pod goes where it has most room, except where pods are admitted
// ahead of confirmation: there the room for typical pods decides.
func TestRankedAsTypicalAhead(t *testing.T) {
	clock := newClock()
	light, heavy := podOfDeployment(1, "light"), podOfDeployment(2, "heavy")
	c := deciding(t, clock, 2, newProfileStore(profileOf("light", clock.Now(), .125, gib/4), profileOf("heavy", clock.Now(), .5, 6*gib)), light, heavy)
	client := c.dial()
	narrow, wide := measured(6), measured(3) // by the room of a typical pod
	narrow.Channels[0].Room, narrow.Channels[1].Room = .7, .7
	wide.Channels[0].Unit, wide.Channels[0].Cost = 1./32, 1./32 // of 16 cores, not 4
	streams := []*stream{c.open(client, nodeName(0)), c.open(client, nodeName(1))}
	c.workload(light, known("light", .125, gib/4, 1))
	c.workload(heavy, known("heavy", .5, 6*gib, 1))
	for _, test := range []struct {
		allowance    float64
		best, second string
	}{{0, nodeName(1), nodeName(0)}, {1, nodeName(0), nodeName(1)}, {0, nodeName(1), nodeName(0)}} {
		narrow.Allowance, wide.Allowance = test.allowance, test.allowance
		streams[0].settle(narrow)
		streams[1].settle(wide)
		for _, pod := range []*v1.Pod{light, heavy} {
			got := c.scored(t, pod, c.infos)
			if got[test.best] != 100 || got[test.second] >= 100 {
				t.Errorf("%s, with an allowance of %v: scores are %v, want %s best", pod.Name, test.allowance, got, test.best)
			}
		}
	}
}

// TestOnWithoutProfilesIsOff: without any profile, On decides as Off does, whatever the nodes report.
func TestOnWithoutProfilesIsOff(t *testing.T) {
	for seed := range uint64(6) {
		on, off := history(t, seed, "On"), history(t, seed, "Off")
		if diff := cmp.Diff(off, on); diff != "" {
			t.Fatalf("seed %d: On decides differently (-off +on):\n%s", seed, diff)
		}
	}
}

// history runs random events of pods in a cluster.
func history(t *testing.T, seed uint64, mode string) (trace []string) {
	const nodes = 7
	clock, rng := newClock(), rand.New(rand.NewPCG(seed, 10))
	c := newCluster(t, setup{
		nodes: nodes, args: plugin.SpazioArgs{Profiles: mode, MaxAge: metav1.Duration{Duration: 8 * time.Second}},
		options: plugin.HubOptions{Now: clock.Now, Profiles: newProfileStore(), Random: func() float64 { return 0 }},
	})
	client := c.dial()
	var streams []*stream
	for i := range nodes {
		streams = append(streams, c.open(client, nodeName(i)))
	}
	for i := range 60 {
		if i%6 == 0 {
			for _, s := range streams {
				if rng.Float64() < .8 {
					s.settle(randomReport(rng))
				}
			}
			c.pass(clock, time.Duration(rng.IntN(10))*time.Second) // in all less than the two minutes after which a pod in flight counts as late
		}
		pod := podOfDeployment(i, fmt.Sprint("web-", rng.IntN(3)))
		state, feasible, status := c.attempt(pod, c.infos)
		if len(feasible) == 0 {
			trace = append(trace, fmt.Sprint(i, reasons(status)))
			continue
		}
		scores, err := c.scores(state, pod, feasible)
		if err != nil {
			t.Fatal(err)
		}
		best := slices.MaxFunc(slices.Sorted(maps.Keys(scores)), func(a, b string) int { return int(scores[a] - scores[b]) })
		status = c.Reserve(t.Context(), state, pod, best)
		trace = append(trace, fmt.Sprint(i, scores, best, reasons(status)))
		if rng.Float64() < .2 {
			c.Unreserve(t.Context(), state, pod, best)
		}
	}
	for _, s := range c.hub.Snapshot() {
		trace = append(trace, fmt.Sprint(s.Node, s.Free, s.InFlight, s.Slots, s.Reason, s.OverduePlaces))
	}
	return trace
}

// randomReport returns a report with rooms in resources, or in pods alone.
func randomReport(rng *rand.Rand) agent.Report {
	r := measured(8*rng.Float64() - 1)
	r.Allowance, r.K, r.Floored, r.Saturated = 3*rng.Float64(), 4*rng.Float64(), rng.IntN(4) == 0, rng.IntN(8) == 0
	for i := range r.Channels {
		ch := &r.Channels[i]
		ch.Room, ch.StartupAllowance, ch.PodSD = 1.2*rng.Float64()-.2, .1*rng.Float64(), .05*rng.Float64()
		ch.Cost, ch.CostSD = .02+.2*rng.Float64(), .05*rng.Float64()
		ch.Unit *= float64(rng.IntN(2))
	}
	return r
}

// TestDecisionsAreThoseOfReserve: each decision of a cycle, and of Reserve, equals that of package
// reserve for the node's report, the pods in flight and the pod.
func TestDecisionsAreThoseOfReserve(t *testing.T) {
	const nodes, workloads = 5, 6
	for seed := range uint64(6) {
		clock, rng := newClock(), rand.New(rand.NewPCG(seed, 11))
		s, asks := newProfileStore(), map[string]reserve.Demand{}
		for i := range workloads {
			p := profileOf(fmt.Sprint("web-", i), clock.Now(), 3*rng.Float64(), 12*gib*rng.Float64())
			p.Status.Demand.CPU.Confidence = v1alpha1.FromRatio(float64(rng.IntN(17)) / 16)
			p.Status.Demand.Memory.Confidence = v1alpha1.FromRatio(float64(rng.IntN(17)) / 16)
			d, err := p.Status.Demand.Value()
			if err != nil {
				t.Fatal(err)
			}
			asks[p.Spec.Workload.Name] = agent.DemandOf(d, reserve.Rules{})
			s.put(p)
		}
		probe := podOfDeployment(1000, "web-0")
		c := deciding(t, clock, nodes, s, probe)
		c.eventually("profiles are known", func() bool { return c.explain(probe).Workload != nil })
		client := c.dial()
		signals, flights := make([]reserve.Signal, nodes), make([]reserve.Flight, nodes)
		for i := range nodes {
			r := randomReport(rng)
			c.open(client, nodeName(i)).settle(r)
			signals[i] = r.Signal()
			signals[i].Pods, signals[i].Allowance = 0, 0 // the ledger has seen no pod run
		}
		for i := range 40 {
			name := fmt.Sprint("web-", rng.IntN(workloads+1)) // one is unknown
			d, known := asks[name]
			if !known {
				d = reserve.TypicalPod()
			}
			pod, want := podOfDeployment(i, name), []string(nil)
			for n := range nodes {
				if reserve.Fits(signals[n], flights[n], d, reserve.Rules{}) == reserve.Admitted {
					want = append(want, nodeName(n))
				}
			}
			state, feasible, status := c.attempt(pod, c.infos)
			var got []string
			for _, info := range feasible {
				got = append(got, info.Node().Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, pod %d of %s: %v (-want +got):\n%s", seed, i, name, reasons(status), diff)
			}
			n := rng.IntN(nodes)
			if ok := c.Reserve(t.Context(), state, pod, nodeName(n)).IsSuccess(); ok != slices.Contains(want, nodeName(n)) {
				t.Fatalf("seed %d, pod %d of %s: reserved is %v, fits in %v", seed, i, name, ok, want)
			} else if ok {
				flights[n] = flights[n].With(1, d)
			}
		}
	}
}

// TestSmallRoomWakesSmallPods: the waiting pods that fit a node's room now are woken, even if they are
// younger than others.
func TestSmallRoomWakesSmallPods(t *testing.T) {
	clock := newClock()
	heavy, light, stranger := podOfDeployment(1, "heavy"), podOfDeployment(2, "light"), podOfDeployment(3, "stranger")
	c := deciding(t, clock, 1, newProfileStore(profileOf("heavy", clock.Now(), .5, 12*gib), profileOf("light", clock.Now(), .125, gib/4)), heavy, light, stranger)
	s := c.open(c.dial(), nodeName(0))
	report := func(avail, room float64) {
		r := measured(avail)
		r.Channels[1].Room = room
		s.settle(r)
	}
	report(-1, 0)
	c.workload(heavy, known("heavy", .5, 12*gib, 1))
	for _, pod := range []*v1.Pod{heavy, light, stranger} {
		if names := c.feasible(pod); names != nil {
			t.Fatalf("%s fits on %v", pod.Name, names)
		}
	}
	c.woken()
	woken := func(room float64, avail float64, want ...*v1.Pod) {
		t.Helper()
		report(avail, room)
		for _, pod := range want {
			c.eventually(pod.Name+" is woken", func() bool { return c.peek()[pod.Name] })
		}
		got := c.woken()
		for _, pod := range want {
			delete(got, pod.Name)
			c.reserve(pod, nodeName(0))
			c.Unreserve(t.Context(), &cycleState{}, pod, nodeName(0))
		}
		if len(got) > 0 {
			t.Errorf("room %v: also woke %v", room, got)
		}
	}
	woken(.05, .5, light)
	woken(.14, 1.5, stranger)
	woken(.9, 8, heavy)
}

// TestMispredictionsDropAProfile: mispredictions on three nodes make a workload unknown until it is
// measured again.
func TestMispredictionsDropAProfile(t *testing.T) {
	clock := newClock()
	probe := podOfDeployment(100, "web")
	web := profileOf("web", clock.Now(), .125, gib/4)
	s := newProfileStore(web)
	c := deciding(t, clock, 4, s, probe)
	client := c.dial()
	streams := make([]*stream, 4)
	predicted := known("web", .125, gib/4, 1)
	c.workload(probe, predicted)
	for i := range streams {
		streams[i] = c.open(client, nodeName(i))
		streams[i].settle(measured(4))
		c.reserve(podOfDeployment(i, "web"), nodeName(i))
		c.PostBind(t.Context(), &cycleState{}, podOfDeployment(i, "web"), nodeName(i))
	}
	dropped, mispredictions := c.metric("spazio_profile_dropped_total"), c.metric("spazio_profile_mispredictions_total")
	ratio := c.metric(`spazio_profile_error_ratio_count{resource="memory"}`)
	misprediction := func(node, pod int) {
		r := measured(4 + float64(node))
		r.Mispredictions = []agent.Misprediction{{Pod: keyOf(pod), CPURatio: 1, MemoryRatio: 4}}
		streams[node].settle(r)
		r.Avail += .25 // it is sent again
		streams[node].settle(r)
	}
	misprediction(0, 0)
	misprediction(0, 0)
	both := measured(4) // what was found of its CPU is new
	both.Mispredictions = []agent.Misprediction{{Pod: keyOf(0), CPURatio: 1, MemoryRatio: 4}, {Pod: keyOf(0), CPURatio: 3}}
	streams[0].settle(both)
	misprediction(1, 2) // another node's pod
	misprediction(2, 77)
	misprediction(1, 1)
	if got := c.metric("spazio_profile_mispredictions_total") - mispredictions; got < 3 || got > 4 {
		t.Errorf("got %v mispredictions, want those of two nodes, and of one another resource's", got)
	}
	c.workload(probe, predicted)
	clock.advance(11 * time.Minute)
	misprediction(2, 2)
	c.workload(probe, predicted) // the others were long ago
	misprediction(3, 3)
	r := measured(9)
	r.Mispredictions = []agent.Misprediction{{Pod: keyOf(0), MemoryRatio: 3}}
	streams[0].settle(measured(8))
	streams[0].settle(r)
	contradicted := plugin.WorkloadState{Workload: "default/Deployment/web", Source: "contradicted"}
	c.workload(probe, contradicted)
	if got := c.metric("spazio_profile_dropped_total") - dropped; got != 1 {
		t.Errorf("got %v dropped profiles", got)
	}
	if got := c.metric(`spazio_profile_error_ratio_count{resource="memory"}`) - ratio; got < 4 {
		t.Errorf("%v ratios", got)
	}
	// The same again with an old measurement; then with a new one.
	web.Status.Demand.Memory.SD = v1alpha1.Bytes(1)
	s.put(web)
	c.workload(probe, contradicted)
	clock.advance(time.Second)
	s.put(profileOf("web", clock.Now(), .125, gib))
	c.workload(probe, known("web", .125, gib, 1))
}

// TestCorrectedProfilesAreTrusted: a profile that was wrong when pods were placed, and has been corrected
// since, is not distrusted for what these pods take. Before, a batch that began with a profile of its
// shortest pods was placed as typical pods over and over, and nodes ran out of memory.
func TestCorrectedProfilesAreTrusted(t *testing.T) {
	clock := newClock()
	probe := podOfDeployment(100, "web")
	s := newProfileStore(profileOf("web", clock.Now(), .125, gib/4))
	c := deciding(t, clock, 3, s, probe)
	client := c.dial()
	streams := make([]*stream, 3)
	c.workload(probe, known("web", .125, gib/4, 1))
	for i := range streams {
		streams[i] = c.open(client, nodeName(i))
		streams[i].settle(measured(4))
		c.reserve(podOfDeployment(i, "web"), nodeName(i))
		c.PostBind(t.Context(), &cycleState{}, podOfDeployment(i, "web"), nodeName(i))
	}
	clock.advance(time.Second)
	s.put(profileOf("web", clock.Now(), .125, gib))
	corrected := known("web", .125, gib, 1)
	c.workload(probe, corrected)
	dropped, mispredictions := c.metric("spazio_profile_dropped_total"), c.metric("spazio_profile_mispredictions_total")
	report := func(memory float64) {
		for i, stream := range streams {
			r := measured(5)
			r.Mispredictions = []agent.Misprediction{{Pod: keyOf(i), CPURatio: 1, MemoryRatio: memory}}
			stream.settle(r)
			stream.settle(measured(4)) // the next one is news again
		}
	}
	report(4) // the 1 GiB that is known by now
	c.workload(probe, corrected)
	if got := c.metric("spazio_profile_mispredictions_total") - mispredictions; got != 3 {
		t.Errorf("%v mispredictions, want 3", got)
	}
	report(8) // twice as much as that
	c.workload(probe, plugin.WorkloadState{Workload: "default/Deployment/web", Source: "contradicted"})
	if got := c.metric("spazio_profile_dropped_total") - dropped; got != 1 {
		t.Errorf("%v profiles dropped, want 1", got)
	}
}

// TestAgentsGetDemands: an agent gets the profiled demand of each bound pod, and on a new stream that
// of all its pods.
func TestAgentsGetDemands(t *testing.T) {
	clock := newClock()
	bound, ended, stranger := podOfDeployment(1, "web"), podOfDeployment(2, "web"), podOfDeployment(3, "stranger")
	for _, pod := range []*v1.Pod{bound, ended, stranger} {
		pod.Spec.NodeName = nodeName(0)
	}
	ended.Status.ContainerStatuses = []v1.ContainerStatus{{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}}}
	c := deciding(t, clock, 1, newProfileStore(profileOf("web", clock.Now(), .25, gib)), bound, ended, stranger)
	c.workload(bound, known("web", .25, gib, 1))
	s := c.open(c.dial(), nodeName(0))
	r := measured(4)
	r.Pods = []reserve.PodKey{keyOf(1)}
	slices.Sort(r.Pods)
	s.settle(r)
	expectBind := func(pod int) {
		t.Helper()
		received := make(chan *spaziov1.PodBound, 1)
		go func() {
			notice, err := s.Recv()
			for err == nil && notice.GetPodBound().GetPod() != uint64(keyOf(pod)) { // an earlier notice may be sent twice
				notice, err = s.Recv()
			}
			received <- notice.GetPodBound()
		}()
		var b *spaziov1.PodBound
		c.eventually(fmt.Sprintf("the agent gets pod %d", pod), func() bool {
			select {
			case b = <-received:
				return true
			default:
				return false
			}
		})
		if b.GetPod() != uint64(keyOf(pod)) || b.GetDemand().GetCpuCores() != .25 || b.GetDemand().GetMemoryBytes() != gib || b.GetDemand().GetCpuConfidence() != 1 {
			t.Fatalf("got notice %v, want the demand of pod %d", b, pod)
		}
	}
	expectBind(1)
	next := podOfDeployment(4, "web")
	state, _, _ := c.attempt(next, c.infos)
	if status := c.Reserve(t.Context(), state, next, nodeName(0)); !status.IsSuccess() {
		t.Fatal(reasons(status))
	}
	c.PostBind(t.Context(), state, next, nodeName(0))
	expectBind(4)
	// A new stream begins with the demands of the node's pods, those in flight included.
	late := podOfDeployment(5, "web")
	late.Spec.NodeName = nodeName(0)
	c.arrive(late)
	expectBind(5)
	s = c.open(c.dial(), nodeName(0))
	r.Incarnation, r.Sequence, r.Avail, r.Pods = 2, 1, 5, nil
	s.settle(r)
	expectBind(5)
}

// TestSignatureSeparatesDemands: pods share a result only if their demands are equal.
func TestSignatureSeparatesDemands(t *testing.T) {
	clock := newClock()
	s := newProfileStore(profileOf("a", clock.Now(), .5, gib), profileOf("b", clock.Now(), .5, gib), profileOf("c", clock.Now(), .5, 2*gib))
	probe := podOfDeployment(0, "a")
	c := deciding(t, clock, 1, s, probe)
	c.workload(probe, known("a", .5, gib, 1))
	sign := func(name string) string {
		fragments, status := c.SignPod(t.Context(), podOfDeployment(1, name))
		if !status.IsSuccess() {
			t.Fatal(reasons(status))
		}
		text, err := json.Marshal(fragments)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if sign("a") != sign("b") || sign("a") == sign("c") || sign("a") == sign("unknown") || sign("unknown") != sign("stranger") {
		t.Errorf("a %s b %s c %s unknown %s", sign("a"), sign("b"), sign("c"), sign("unknown"))
	}
}

// TestProfilesByMode: a profile in mode Observe decides nothing; its would-be decisions are counted.
func TestProfilesByMode(t *testing.T) {
	clock := newClock()
	pod, probe := podOfDeployment(1, "web"), podOfDeployment(2, "other")
	web := profileOf("web", clock.Now(), .125, 20*gib)
	web.Spec.Mode = v1alpha1.Observe
	s := newProfileStore(web, profileOf("other", clock.Now(), .125, 6*gib))
	c := deciding(t, clock, 1, s, pod, probe)
	c.workload(pod, known("web", .125, 20*gib, 1))
	r := measured(4)
	r.Channels[1].Room = .85
	c.open(c.dial(), nodeName(0)).settle(r)
	refuse, _ := c.differences()
	c.reserve(pod, nodeName(0))
	if now, _ := c.differences(); now != refuse+1 {
		t.Errorf("%v reservations would be refused, want 1", now-refuse)
	}
	if names := c.feasible(probe); len(names) == 0 { // beside a typical pod
		t.Error("a profile in mode Observe refused another pod")
	}
	web.Spec.Mode = v1alpha1.On
	s.put(web)
	c.eventually("it decides", func() bool { return len(c.feasible(probe)) == 0 })
}

// differing returns n different workload profiles.
func differing(n int, at time.Time) (list []v1alpha1.WorkloadProfile) {
	for i := range n {
		list = append(list, profileOf(fmt.Sprint("web-", i), at, .063, float64(1+i)*gib/8))
	}
	return list
}

// TestManyClasses: even beyond 64 demand classes of waiting pods, none waits beside room.
func TestManyClasses(t *testing.T) {
	const kinds = 100
	clock := newClock()
	pods := make([]*v1.Pod, kinds)
	objects := make([]runtime.Object, kinds)
	for i := range pods {
		pods[i] = podOfDeployment(i, fmt.Sprint("web-", i))
		objects[i] = pods[i]
	}
	c := deciding(t, clock, 1, newProfileStore(differing(kinds, clock.Now())...), objects...)
	s := c.open(c.dial(), nodeName(0))
	r := measured(-1)
	r.Channels[0].Room, r.Channels[1].Room = 0, 0
	s.settle(r)
	c.workload(pods[kinds-1], known(fmt.Sprint("web-", kinds-1), .063, kinds*gib/8, 1))
	rng := rand.New(rand.NewPCG(1, 2))
	for _, i := range rng.Perm(kinds) {
		if names := c.feasible(pods[i]); names != nil {
			t.Fatalf("%s fits on %v", pods[i].Name, names)
		}
	}
	// The node has room for the first 40 classes, one pod at a time: each woken pod goes there if it
	// fits, and ends at once.
	placed := map[string]bool{}
	byName := map[string]*v1.Pod{}
	for _, pod := range pods {
		byName[pod.Name] = pod
	}
	r.Avail, r.Channels[0].Room, r.Channels[1].Room = 8, 1, 1.5*40.1/8/16 // 50 % uncertainty
	s.settle(r)
	c.eventually("all that fit were there", func() bool {
		clock.advance(10 * time.Millisecond)
		for name := range c.woken() {
			pod := byName[name]
			state, feasible, _ := c.attempt(pod, c.infos)
			if len(feasible) > 0 && c.Reserve(t.Context(), state, pod, nodeName(0)).IsSuccess() {
				placed[name] = true
				c.Unreserve(t.Context(), state, pod, nodeName(0))
			}
		}
		return len(placed) >= 40
	})
	for i := range 40 {
		if !placed[pods[i].Name] {
			t.Errorf("%s waits beside room", pods[i].Name)
		}
	}
}
