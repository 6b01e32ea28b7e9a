package sim_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// anywhere is a server that no scheduler has placed yet.
var anywhere = []sim.Pod{{Workload: "a", Server: node.Server{Rate: 1, Work: .05}}}

// counted is a scheduler beside which observe is called every ten seconds with the pods on nodes, those
// included that do not run yet.
type counted struct {
	sim.Scheduler
	observe func(at float64, pods []int)
}

func (s counted) Start(c *sim.Cluster) (sim.Policy, error) {
	c.Every(10, 10, func() {
		var pods []int
		for node := range c.Nodes() {
			pods = c.PodsTo(pods, node)
		}
		s.observe(c.Now(), pods)
	})
	return s.Scheduler.Start(c)
}

// rush is a service whose load is 1 core, 6 and 1 again, for twenty minutes each, and a pod
// that ends the run.
func rush() (sim.Service, []sim.Pod) {
	var pods []sim.Pod
	for range 20 {
		pods = append(pods, sim.Pod{Workload: "web", Memory: 1 << 20, Startup: 1, Server: node.Server{Rate: 1, Work: .05}})
	}
	return sim.Service{Workload: "web", Step: 1200, Rates: []float64{20, 120, 20}, Least: 2, Target: .5}, append(pods, sim.Pod{Created: 3600, Work: .001})
}

// ran checks that those pods which were on nodes at last run: to be on a node is not to run, and only the
// record of a pod that is there shows it.
func ran(t *testing.T, name string, r sim.Result, last []int) {
	t.Helper()
	if len(last) == 0 {
		t.Errorf("%s: no pods were on nodes at last", name)
	}
	for _, pod := range last {
		if r.Records[pod].Running == -1 {
			t.Errorf("%s: pod %d was on a node and did not run", name, pod)
		}
	}
}

// The autoscaler has as many pods as the load over the target, whatever the scheduler, and their
// requests are all answered.
func TestServicesFollowTheirLoad(t *testing.T) {
	service, pods := rush()
	for name, scheduler := range map[string]sim.Scheduler{
		"default": sim.Default{}, "spazio": sim.Spazio{}, "profiles": counting(sim.Profiles{}), "load-aware": sim.LoadAware{},
	} {
		counts := map[float64]int{}
		var last []int
		c := sim.Config{Nodes: 4, Services: []sim.Service{service}, Seed: 3}
		c.Scheduler = counted{scheduler, func(at float64, pods []int) {
			counts[at], last = len(pods), pods
		}}
		r := run(t, c, pods)
		ran(t, name, r, last)
		for _, span := range []struct{ from, to, want float64 }{{600, 1190, 2}, {1500, 2390, 12}, {3000, 3590, 2}} {
			sum, n := 0., 0.
			for at, pods := range counts {
				if at >= span.from && at <= span.to {
					sum += float64(pods)
					n++
				}
			}
			// The maximum of five minutes counts, which is one more by chance.
			if got := sum / n; got < span.want-.5 || got > span.want+2 {
				t.Errorf("%s: %.1f pods were on nodes from %g s on, want %g or a little more", name, got, span.from, span.want)
			}
		}
		want := 1200. * (20 + 120 + 20)
		if n := float64(len(r.Responses)); math.Abs(n/want-1) > .02 {
			t.Errorf("%s: %g answers, want about %g", name, n, want)
		}
		if r.Unserved > 300 { // of the first start
			t.Errorf("%s: %g requests had no pod", name, r.Unserved)
		}
		if diff := cmp.Diff(r.Responses[:100], run(t, c, pods).Responses[:100]); diff != "" {
			t.Errorf("%s: another run differs:\n%s", name, diff)
		}
	}
}

// A deleted pod of an autoscaler answers its present requests within its grace period: requests of
// two seconds on average are all answered, some of two minutes are lost.
func TestServicesDrain(t *testing.T) {
	for _, test := range []struct {
		work      float64
		failsSome bool
	}{{2, false}, {120, true}} {
		service, pods := rush()
		service.Rates = []float64{8 / test.work, 2 / test.work, 0}
		for i := range pods[:len(pods)-1] {
			pods[i].Server.Work = test.work
		}
		failed := 0
		for seed := range uint64(4) {
			r := run(t, sim.Config{Nodes: 4, Scheduler: sim.Default{}, Services: []sim.Service{service}, Seed: seed}, pods)
			failed += r.Failed
			if got := metric(t, r, "server_failed"); got != float64(r.Failed) {
				t.Errorf("server_failed is %g, want %d", got, r.Failed)
			}
		}
		if failed > 0 != test.failsSome {
			t.Errorf("requests of %g s: %d failed", test.work, failed)
		}
	}
}

// A server gets the same requests wherever it runs, others with another seed.
func TestRequestsAreOfTheServer(t *testing.T) {
	responses := func(on int, seed uint64) []float64 {
		pods := []sim.Pod{{On: on, Server: node.Server{Rate: 2, Work: .001}}, {Created: 60, Work: .001}}
		return run(t, sim.Config{Nodes: 3, Node: node.Params{Cores: 64}, Scheduler: sim.Default{}, Seed: seed}, pods).Responses
	}
	want, approx := responses(1, 1), cmpopts.EquateApprox(0, 1e-6)
	if diff := cmp.Diff(want, responses(3, 1), approx); diff != "" {
		t.Errorf("on another node (-want +got):\n%s", diff)
	}
	if cmp.Equal(want, responses(1, 2), approx) {
		t.Error("another seed has the same requests")
	}
}

// If requests leave no room for all wanted pods, the waiting ones are deleted when they are no
// longer wanted, and none remains.
func TestServicesWithoutRoom(t *testing.T) {
	service, pods := rush()
	service.Rates[1] = 85 // a little more than the node can do
	for i := range pods[:len(pods)-1] {
		pods[i].Request.CPU = 1
	}
	for name, scheduler := range map[string]sim.Scheduler{"default": sim.Default{}, "spazio": counting(sim.Profiles{})} {
		var counts, there []int
		scheduler = counted{scheduler, func(_ float64, pods []int) {
			counts, there = append(counts, len(pods)), pods
		}}
		r := run(t, sim.Config{Nodes: 1, Node: node.Params{Cores: 4}, Scheduler: scheduler, Services: []sim.Service{service}, Seed: 3}, pods)
		ran(t, name, r, there)
		if most, last := slices.Max(counts), counts[len(counts)-2]; most != 4 || last != 2 && last != 3 {
			t.Errorf("%s: at most %d pods were on nodes where 4 fit, %d at last", name, most, last)
		}
	}
}

// A service's OOM-killed pods are recreated.
func TestServicesAreReplaced(t *testing.T) {
	service, pods := rush()
	for i := range pods[:len(pods)-1] {
		pods[i].Memory = 3 << 30
	}
	for _, overcommit := range []node.Overcommit{node.Evict, node.Kill} {
		r := run(t, sim.Config{Nodes: 2, Node: node.Params{Overcommit: overcommit}, Scheduler: sim.Default{}, Services: []sim.Service{service}, Seed: 4}, pods)
		lost := 0
		for _, record := range r.Records {
			lost += record.Kills + record.Evictions
		}
		if answered := float64(len(r.Responses)) / (1200 * 160); lost == 0 || answered < .3 {
			t.Errorf("%v: %d pods were lost, %.2f of the requests answered", overcommit, lost, answered)
		}
	}
}

// A pod alone takes the time of its phases, and its known demand is its mean and its peak.
func TestPhases(t *testing.T) {
	p := sim.Pod{Workload: "a", Phases: []node.Stage{
		{Seconds: 2, Cores: 1, Memory: 1 << 20}, {Seconds: 6, Memory: 1 << 20}, {Seconds: 4, Cores: 2, Memory: 1 << 30, Garbage: 1 << 29, Period: 1},
	}}
	if need := p.Need(); p.Solo() != 12 || need.CPU != 10./12 || need.Memory != 3<<29 {
		t.Errorf("alone for %g s, needs %+v", p.Solo(), need)
	}
	makespan, _, err := sim.LowerBound(sim.Config{Nodes: 1}, []sim.Pod{p})
	if err != nil || makespan != 12 {
		t.Errorf("least makespan %g s, %v", makespan, err)
	}
	for name, scheduler := range map[string]sim.Scheduler{"default": sim.Default{}, "profiles": counting(sim.Profiles{Known: 1}), "load-aware": sim.LoadAware{}} {
		r := run(t, sim.Config{Nodes: 2, Scheduler: scheduler, Seed: 1}, []sim.Pod{p, p})
		for i, record := range r.Records {
			if ran := record.Done - record.Running; math.Abs(ran-12) > .2 {
				t.Errorf("%s: pod %d ran for %.3f s, want 12", name, i, ran)
			}
		}
		if math.Abs(r.Done-20) > 1e-3 {
			t.Errorf("%s: %g core-seconds done, want 20", name, r.Done)
		}
	}
	queue, err := sim.CentralQueue(sim.Config{Nodes: 1}, []sim.Pod{p})
	if err != nil || queue.Records[0].Done != 12 {
		t.Errorf("one queue: %+v, %v", queue.Records, err)
	}
}
