package plugin_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/reserve"
)

// energyCluster returns a cluster whose scheduler weighs room and energy equally and breaks no ties at
// random.
func energyCluster(t testing.TB, clock *clock, nodes int, edits ...func(*setup)) *cluster {
	t.Helper()
	s := setup{nodes: nodes, options: plugin.HubOptions{Now: clock.Now, Random: func() float64 { return 0 }}}
	s.args.EnergyWeight, s.args.MaxAge.Duration = .5, time.Hour
	for _, edit := range edits {
		edit(&s)
	}
	return newCluster(t, s)
}

// machine returns the power of a node of 8 cores, half of them busy, with idle and maximum watts.
func machine(idle, highest float64) energy.Power {
	return energy.Power{
		Quality: energy.Measured, Watts: (idle + highest) / 2, SD: 1, Max: highest, Idle: idle,
		Marginal: (highest - idle) / 8, Busy: 4, Cores: 8, Joules: 1e4,
	}
}

func withPower(avail float64, p energy.Power) agent.Report {
	return agent.Report{Avail: avail, K: 2, Power: p}
}

// power reports a power for each node, and none for the other nodes.
func (c *cluster) power(avail float64, powers ...energy.Power) []*stream {
	c.t.Helper()
	client, streams := c.dial(), make([]*stream, len(powers))
	for i, p := range powers {
		streams[i] = c.open(client, nodeName(i))
		streams[i].settle(withPower(avail, p))
	}
	return streams
}

// scored returns a cycle's scores by node.
func (p *profiled) scored(t testing.TB, pod *v1.Pod, infos []fwk.NodeInfo) map[string]int64 {
	t.Helper()
	state, feasible, status := p.attempt(pod, infos)
	if len(feasible) == 0 {
		t.Fatalf("no node fits %s: %v", pod.Name, reasons(status))
	}
	scores, err := p.scores(state, pod, feasible)
	if err != nil {
		t.Fatal(err)
	}
	return scores
}

// TestEnergyRanksNodes with the same room. The third has no power and scores the mean of the others,
// the fourth has all cores busy.
func TestEnergyRanksNodes(t *testing.T) {
	small, large := machine(40, 120), machine(90, 300) // 10 and 26.25 W per core
	full := large
	full.Busy = 8.4
	for _, test := range []struct {
		name string
		edit func(*setup)
		want [4]float64 // goodness relative to the median
	}{
		// The median of three is the large node's, and a full node is clipped.
		{"marginal", func(*setup) {}, [4]float64{2.625, 1, (2.625 + 1 + .25) / 3, .25}},
		// 40 W less 10, and 105 W less 26.25, also on the full node.
		{"remaining", func(s *setup) { s.args.EnergyObjective = "Remaining" }, [4]float64{30.001 / 78.751, 1, (30.001/78.751 + 2) / 3, 1}},
		// Waking a small node takes 40 W more than loading it, a large one 90 W; the median is again
		// the large node's.
		{"sleep", func(s *setup) { s.args.IdleNodesPowerDown = true }, [4]float64{116.25 / 50, 1, (116.25/50 + 1 + .25) / 3, .25}},
		{"all of the score", func(s *setup) { s.args.EnergyWeight = 1 }, [4]float64{2.625, 1, (2.625 + 1 + .25) / 3, .25}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := energyCluster(t, newClock(), 4, test.edit)
			c.power(4, small, large, energy.Power{}, full)
			weight := c.args.EnergyWeight
			best, got := 0., c.scored(t, newPod(1), c.infos)
			for _, g := range test.want {
				best = math.Max(best, math.Pow(g, weight))
			}
			for i, g := range test.want {
				want := 100 * math.Pow(g, weight) / best
				if score := got[nodeName(i)]; math.Abs(float64(score)-want) > .6 {
					t.Errorf("node %d scores %d, want %.1f", i, score, want)
				}
			}
		})
	}
}

// TestBothProfilesOfAScheduler rank by their own args, from the same reports.
func TestBothProfilesOfAScheduler(t *testing.T) {
	c := energyCluster(t, newClock(), 2, func(s *setup) { s.args.EnergyWeight = 0 })
	args := c.args
	args.EnergyWeight, args.EnergyObjective = .5, "Remaining"
	remaining := c.second("remaining", args)
	args.EnergyObjective = "Marginal"
	marginal := c.second("marginal", args)
	c.power(4, machine(40, 120), machine(90, 300))
	for _, test := range []struct {
		by          *profiled
		small, tall int64
	}{{c.profiled, 100, 100}, {remaining, 62, 100}, {marginal, 100, 62}} { // √(30/78.75), √(10/26.25)
		got := test.by.scored(t, newPod(1), c.infos)
		if got[nodeName(0)] != test.small || got[nodeName(1)] != test.tall {
			t.Errorf("scores %v, want %d and %d", got, test.small, test.tall)
		}
	}
}

// TestPowerChangesWithinASecond: the fleet's median is updated once a second, each node's power at
// once.
func TestPowerChangesWithinASecond(t *testing.T) {
	clock := newClock()
	c := energyCluster(t, clock, 3)
	streams := c.power(4, machine(40, 120), machine(40, 120), machine(40, 120))
	if got := c.scored(t, newPod(1), c.infos); got[nodeName(0)] != 100 || got[nodeName(1)] != 100 {
		t.Fatalf("equal nodes: got scores %v", got)
	}
	streams[1].settle(withPower(4, machine(40, 360))) // a quarter as good
	c.eventually("the node has its power", func() bool { return c.state(nodeName(1)).Energy.Max == 360 })
	if got := c.scored(t, newPod(1), c.infos); got[nodeName(0)] != 100 || got[nodeName(1)] != 50 {
		t.Errorf("scores %v", got)
	}
	for i, s := range streams {
		s.settle(withPower(4.5, machine(40, 80-4*float64(i)))) // 5, 4.5, 4 W per core: all twice as good
	}
	if got := c.scored(t, newPod(1), c.infos); got[nodeName(2)] != 100 || got[nodeName(0)] != 89 || got[nodeName(1)] != 94 {
		t.Errorf("all within the bound of a node's gain: got scores %v", got)
	}
	for i, s := range streams {
		s.settle(withPower(4, machine(0, 4+4*float64(i)))) // far beyond the bound
	}
	if got := c.scored(t, newPod(1), c.infos); got[nodeName(0)] != 100 || got[nodeName(2)] != 100 {
		t.Errorf("compared with the former median: got scores %v", got)
	}
	clock.advance(time.Second)
	if got := c.scored(t, newPod(1), c.infos); got[nodeName(0)] != 100 || got[nodeName(2)] != 58 || got[nodeName(1)] != 71 {
		t.Errorf("a second later: got scores %v", got)
	}
}

// TestHostilePower: whatever power a node reports, it scores at most four times as good as the fleet's
// median, and the other nodes keep their scores.
func TestHostilePower(t *testing.T) {
	lies := []energy.Power{
		{Quality: energy.Measured, Cores: energy.MaxCores},
		{Quality: energy.Measured, Max: energy.MaxWatts, Cores: energy.MaxCores},
		{Quality: energy.Measured, Max: energy.MaxWatts, Marginal: 1e-300, Cores: energy.MaxCores, Joules: energy.MaxJoules},
		{Quality: energy.Modelled, Watts: energy.MaxWatts, SD: energy.MaxWatts, Max: 0, Marginal: energy.MaxWatts, Busy: energy.MaxCores},
	}
	for _, objective := range []string{"Marginal", "Remaining"} {
		for i, lie := range lies {
			t.Run(fmt.Sprint(objective, i), func(t *testing.T) {
				c := energyCluster(t, newClock(), 5, func(s *setup) { s.args.EnergyObjective = objective })
				honest := machine(40, 120)
				c.power(4, honest, honest, honest, honest, lie)
				got := c.scored(t, newPod(1), c.infos)
				inflated := got[nodeName(4)]
				for j := range 4 {
					if score := got[nodeName(j)]; inflated == 100 && score != 50 || inflated < 100 && (score != 100 || inflated != 50) {
						t.Errorf("got score %d of the false report, node %d scores %d", inflated, j, score)
					}
				}
			})
		}
	}
}

// TestPlacementWithoutPower: with all agents silent or without power a pod is placed as with an
// energyWeight of 0, by the same scores; with power the same nodes admit it.
func TestPlacementWithoutPower(t *testing.T) {
	for seed := range uint64(12) {
		for _, powered := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed=%d/power=%v", seed, powered), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 19))
				args := plugin.SpazioArgs{
					StalePolicy: []string{"Neutral", "Reject", "Allow"}[rng.IntN(3)], CapacityWeight: []float64{0, .25}[rng.IntN(2)],
					MaxAge: metav1.Duration{Duration: 5 * time.Second},
				}
				withEnergy := args
				withEnergy.EnergyWeight, withEnergy.EnergyObjective = .05+.7*rng.Float64(), []string{"Marginal", "Remaining"}[rng.IntN(2)]
				withEnergy.IdleNodesPowerDown = rng.IntN(2) == 0
				one, other := newTwin(t, args), newTwin(t, withEnergy)
				for i := range 40 {
					if rng.IntN(3) == 0 {
						node, r := rng.IntN(twinNodes-1), agent.Report{ // the last is silent
							Avail: 5*rng.Float64() - .5, Allowance: 3 * rng.Float64(), K: 4 * rng.Float64(), Saturated: rng.IntN(9) == 0,
						}
						if powered && rng.IntN(3) > 0 {
							r.Power = machine(100*rng.Float64(), 100+300*rng.Float64())
						}
						one.settle(node, r)
						other.settle(node, r)
					}
					if rng.IntN(6) == 0 {
						for d := time.Duration(rng.IntN(8)) * time.Second; d > 0; d -= time.Second {
							one.advance(time.Second)
							other.advance(time.Second)
						}
					}
					pod := podOfDeployment(i, fmt.Sprint("w", i%3))
					a, b := one.cycle(t, pod), other.cycle(t, pod)
					if !powered {
						if diff := cmp.Diff(a, b); diff != "" {
							t.Fatalf("pod %d (-without energy +with):\n%s", i, diff)
						}
					} else if diff := cmp.Diff(slicesOf(a), slicesOf(b), cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("nodes that take pod %d (-without energy +with):\n%s", i, diff)
					}
					if best := bestOf(a); best != "" {
						one.take(t, pod, best)
						other.take(t, pod, best)
					}
				}
			})
		}
	}
}

// TestPlacementOfSilentNodes: the earlier power of silent nodes does not count, even if they are ranked
// by their last reported room.
func TestPlacementOfSilentNodes(t *testing.T) {
	for _, policy := range []string{"Neutral", "Allow"} {
		t.Run(policy, func(t *testing.T) {
			args := plugin.SpazioArgs{StalePolicy: policy, MaxAge: metav1.Duration{Duration: 5 * time.Second}}
			withEnergy := args
			withEnergy.EnergyWeight = .5
			one, other := newTwin(t, args), newTwin(t, withEnergy)
			for i := range twinNodes {
				r := withPower(1+1.5*float64(i), machine(40, 120+100*float64(i%4)))
				one.settle(i, r)
				other.settle(i, r)
			}
			pod := newPod(1)
			if a, b := one.cycle(t, pod), other.cycle(t, pod); cmp.Equal(a, b) {
				t.Fatalf("energy does not affect the scores: %v", a)
			}
			for range 12 {
				one.advance(time.Second)
				other.advance(time.Second)
			}
			a, b := one.cycle(t, pod), other.cycle(t, pod)
			if diff := cmp.Diff(a, b); diff != "" || len(a) == 0 {
				t.Errorf("%v (-without energy +with):\n%s", a, diff)
			}
		})
	}
}

const twinNodes = 7

// twin is a cluster with the same inputs as another.
type twin struct {
	*cluster
	clock   *clock
	streams []*stream
}

func newTwin(t *testing.T, args plugin.SpazioArgs) *twin {
	w := &twin{clock: newClock()}
	w.cluster = newCluster(t, setup{nodes: twinNodes, args: args, options: plugin.HubOptions{Now: w.clock.Now, Random: func() float64 { return .5 }}})
	client := w.dial()
	for i := range twinNodes {
		w.streams = append(w.streams, w.open(client, nodeName(i)))
	}
	return w
}

func (w *twin) settle(node int, r agent.Report) { w.streams[node].settle(r) }

func (w *twin) advance(d time.Duration) {
	w.clock.advance(d)
	w.hub.Snapshot()
}

// cycle returns the scores of the nodes that take a pod.
func (w *twin) cycle(t *testing.T, pod *v1.Pod) map[string]int64 {
	state, feasible, _ := w.attempt(pod, w.infos)
	if len(feasible) == 0 {
		return nil
	}
	scores, err := w.scores(state, pod, feasible)
	if err != nil {
		t.Fatal(err)
	}
	return scores
}

func (w *twin) take(t *testing.T, pod *v1.Pod, node string) {
	state, _, _ := w.attempt(pod, w.infos)
	if status := w.Reserve(t.Context(), state, pod, node); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
}

func slicesOf(scores map[string]int64) map[string]bool {
	names := make(map[string]bool)
	for name := range scores {
		names[name] = true
	}
	return names
}

func bestOf(scores map[string]int64) (best string) {
	for name, score := range scores {
		if best == "" || score > scores[best] || score == scores[best] && name < best {
			best = name
		}
	}
	return best
}

// sized sets the nodes' cores.
func sized(cores int64) func(*setup) {
	return func(s *setup) {
		for i := range s.nodes {
			s.objects = append(s.objects, &v1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)},
				Status:     v1.NodeStatus{Capacity: v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI)}},
			})
		}
		s.nodes = 0
	}
}

// TestWorkloadsAreMeasured by the nodes of their pods, and by no others.
func TestWorkloadsAreMeasured(t *testing.T) {
	clock := newClock()
	web, api := podOfDeployment(1, "web"), podOfDeployment(2, "api")
	web.Spec.NodeName, api.Spec.NodeName = nodeName(0), nodeName(1)
	later := podOfDeployment(3, "web")
	c := newCluster(t, setup{nodes: 2, objects: []runtime.Object{web, api, later}, options: plugin.HubOptions{Now: clock.Now}})
	clock.advance(time.Second)
	client := c.dial()
	streams := []*stream{c.open(client, nodeName(0)), c.open(client, nodeName(1))}
	keys := []reserve.PodKey{keyOf(1), keyOf(2)}
	report := func(node int, cores, watts []float32) {
		t.Helper()
		p := machine(40, 120)
		p.Joules = float64(clock.Now().Unix())
		streams[node].settle(agent.Report{Avail: float64(clock.Now().Unix()%1000) / 8, Pods: keys, PodCores: cores, PodWatts: watts, Power: p})
	}
	c.eventually("no energy is known", func() bool { return c.explain(later).Energy == nil })
	both := func(own float32) {
		t.Helper()
		// Each reports the other's pod falsely, and the second power that it does not have.
		report(0, []float32{own, 7}, []float32{12 * own, 500})
		report(1, []float32{9, 300}, []float32{700, 1e6})
	}
	// The first report shows on which node each pod is.
	c.eventually("both pods were observed", func() bool {
		clock.advance(time.Second)
		both(.5)
		return c.explain(web).Energy.Pods == 1 && c.explain(api).Energy.Pods == 1
	})
	before := c.explain(later).Energy.Joules
	for i := range 6 {
		clock.advance(5 * time.Second)
		if i == 3 {
			both(0) // not measured
			continue
		}
		both(.5)
	}
	e := c.explain(later)
	want := &energy.WorkloadEstimate{Workload: "default/Deployment/web", Estimate: energy.Estimate{Cores: .5, Watts: 6, Pods: 1, Known: true}}
	if diff := cmp.Diff(want, e.Energy, cmpopts.IgnoreFields(energy.Estimate{}, "Joules")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if j := e.Energy.Joules - before; j != 5*5*6 {
		t.Errorf("got %v J, want five times 5 s of 6 W", j)
	}
	if !strings.Contains(page.ExplanationText(e), "a pod of its workload default/Deployment/web takes 0.5 cores and 6 ± 0 W, by 1 of them") {
		t.Errorf("got explanation %s", page.ExplanationText(e))
	}
	w := httptest.NewRecorder()
	c.hub.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	var got plugin.Status
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Energy.Workloads) != 2 || got.Energy.Workloads[0].Workload != "default/Deployment/api" || got.Energy.Workloads[0].Watts != 80 ||
		got.Energy.Workloads[1] != *e.Energy || got.Energy.Objective != "Marginal" {
		t.Errorf("energy %+v", got.Energy)
	}
	if n := got.Nodes[0].Energy; n == nil || n.Quality != "measured" || n.Watts != 80 || n.Marginal != 10 || n.Goodness == nil || *n.Goodness != 1 {
		t.Errorf("node's energy %+v", n)
	}
	metric := func(workload string) string {
		return fmt.Sprintf("spazio_energy_workload_watts{workload=%q} ", workload)
	}
	scraped := func() string {
		w := httptest.NewRecorder()
		legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	c.eventually("the metric", func() bool { return strings.Contains(scraped(), metric("default/Deployment/web")+"6\n") })
}

// TestReportedCoresAreBounded: a node cannot report more cores than it has.
func TestReportedCoresAreBounded(t *testing.T) {
	clock := newClock()
	pod := podOfDeployment(1, "web")
	pod.Spec.NodeName = nodeName(0)
	c := energyCluster(t, clock, 1, func(s *setup) { s.objects = append(s.objects, pod) }, sized(4))
	clock.advance(time.Second)
	s := c.open(c.dial(), nodeName(0))
	for i := range 4 {
		s.settle(agent.Report{Avail: float64(i), Pods: []reserve.PodKey{keyOf(1)}, PodCores: []float32{4000}, PodWatts: []float32{1e6}})
		clock.advance(5 * time.Second)
	}
	if e := c.explain(pod).Energy; e == nil || !e.Known || e.Cores != 4 || e.Watts != 0 || e.Joules != 0 {
		t.Errorf("accepted 4000 cores and 1 MW of a pod on a node of 4 cores without power: %+v", e)
	}
}

// TestCoresInFlight are the measured usage of the pod's workload at its reservation, and count against
// its node until a report lists it.
func TestCoresInFlight(t *testing.T) {
	clock := newClock()
	running, pod := podOfDeployment(1, "web"), podOfDeployment(2, "web")
	running.Spec.NodeName = nodeName(0)
	c := energyCluster(t, clock, 3, func(s *setup) { s.objects = append(s.objects, running, pod) })
	clock.advance(time.Second)
	streams := c.power(8, machine(40, 120), machine(40, 120), machine(40, 120))
	teach := func(cores float32, listed ...reserve.PodKey) {
		t.Helper()
		for range 4 {
			clock.advance(5 * time.Second)
			r := withPower(8+float64(clock.Now().Second())/64, machine(40, 120))
			r.Pods = listed
			for range listed {
				r.PodCores, r.PodWatts = append(r.PodCores, cores), append(r.PodWatts, 8)
			}
			streams[0].settle(r)
		}
	}
	teach(3, keyOf(1))
	flying := func() float64 { return c.state(nodeName(1)).Energy.InFlightCores }
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	if got := c.scored(t, pod, c.infos); got[nodeName(1)] < 95 || got[nodeName(1)] != got[nodeName(2)] {
		t.Fatalf("before: %v", got)
	}
	c.reserve(pod, nodeName(1))
	if got := flying(); !near(got, 3) {
		t.Errorf("got %v cores in flight, want 3", got)
	}
	// Of 8 cores 4 are busy and 3 in flight: a pod of 3 more would find only one.
	clock.advance(time.Second)
	if got := c.scored(t, podOfDeployment(3, "web"), c.infos); got[nodeName(1)] > 50 || got[nodeName(2)] < 90 {
		t.Errorf("got scores %v, but the node will be full", got)
	}
	teach(6, keyOf(1))
	if got := flying(); !near(got, 3) {
		t.Errorf("got %v cores in flight after its workload took more, want those at its reservation", got)
	}
	r := withPower(7, machine(40, 120))
	r.Pods = []reserve.PodKey{keyOf(2)}
	streams[1].settle(r)
	if got := flying(); got != 0 {
		t.Errorf("got %v cores in flight after a report listed the pod", got)
	}
}

// TestIdleNodesPowerDown: a DaemonSet's pod does not keep a node awake, a pod in flight does.
func TestIdleNodesPowerDown(t *testing.T) {
	clock := newClock()
	daemon, web := podOfDeployment(1, "x"), podOfDeployment(2, "web")
	daemon.OwnerReferences[0].Kind, daemon.OwnerReferences[0].Name = "DaemonSet", "log"
	daemon.Spec.NodeName, web.Spec.NodeName = nodeName(0), nodeName(1)
	c := energyCluster(t, clock, 3, func(s *setup) {
		s.args.IdleNodesPowerDown, s.objects = true, append(s.objects, daemon, web)
	})
	client := c.dial()
	for i, listed := range [][]reserve.PodKey{{keyOf(1)}, {keyOf(2)}, nil} {
		r := withPower(4, machine(30, 110)) // 10 W per core, and 30 to wake
		r.Pods = listed
		c.open(client, nodeName(i)).settle(r)
	}
	expect := func(want map[string]int64) {
		t.Helper()
		if diff := cmp.Diff(want, c.scored(t, newPod(9), c.infos)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	expect(map[string]int64{nodeName(0): 50, nodeName(1): 100, nodeName(2): 50})
	c.reserve(podOfDeployment(3, "other"), nodeName(2))
	clock.advance(time.Second)
	scores := c.scored(t, newPod(9), c.infos)
	if scores[nodeName(2)] <= scores[nodeName(0)] {
		t.Errorf("got scores %v, but a pod in flight wakes the third", scores)
	}
}

// TestScoreOnly: no node is refused, and nodes without room are ranked, too.
func TestScoreOnly(t *testing.T) {
	c := energyCluster(t, newClock(), 4, func(s *setup) { s.args.ScoreOnly, s.args.StalePolicy = true, "Reject" })
	streams := c.power(.5, machine(40, 120), machine(40, 360), machine(40, 120))
	streams[0].settle(withPower(-1.5, machine(40, 120)))
	streams[1].settle(withPower(-.5, machine(40, 360)))
	pod := newPod(1)
	pod.Spec.SchedulerName = "spazio"
	scores := c.scored(t, pod, c.infos)
	// √room of 0, 1 and 2 more than the least, the second a quarter as good; the silent node scores the
	// middle.
	want := map[string]int64{nodeName(0): 0, nodeName(1): 35, nodeName(2): 100, nodeName(3): 50}
	if diff := cmp.Diff(want, scores); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.arrive(pod)
	for _, n := range c.explain(pod).Nodes {
		if n.Score == nil || *n.Score != want[n.Node] {
			t.Errorf("%s: got explained score %v", n.Node, n.Score)
		}
	}
	strange := nodeInfo{node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}}}
	if status := c.Filter(t.Context(), &cycleState{}, pod, strange); !status.IsSuccess() {
		t.Errorf("unknown node: got %v", reasons(status))
	}
	for i := range 8 {
		pod := newPod(10 + i)
		if node, status := c.schedule(pod, c.infos); !status.IsSuccess() {
			t.Fatalf("pod %d to %q: %v", i, node, reasons(status))
		}
	}
	if e := c.explain(pod); e.Nodes[0].Score == nil || e.Nodes[0].Reason != "no room" || e.Nodes[3].Score == nil {
		t.Errorf("got explanation %+v", e.Nodes)
	}
	if c.hub.Waiting() != 0 {
		t.Errorf("got %d waiting pods", c.hub.Waiting())
	}
}

// TestExplainShowsEnergy: the explained score is the one that decides.
func TestExplainShowsEnergy(t *testing.T) {
	pod := newPod(1)
	pod.Spec.SchedulerName = "spazio"
	c := energyCluster(t, newClock(), 3, func(s *setup) { s.objects = append(s.objects, pod) })
	c.power(4, machine(40, 120), machine(90, 300), energy.Power{})
	e, scores := c.explain(pod), c.scored(t, pod, c.infos)
	for i, n := range e.Nodes {
		if n.Score == nil || *n.Score != scores[n.Node] {
			t.Errorf("node %d: got explained score %v, want %v", i, n.Score, scores[n.Node])
		}
	}
	table := page.VerdictEnergyTable(e)
	rows := [][]string{
		{nodeName(0), "80.0", "1.0", "120.0", "40.0", "10.0", "4.0", "0.0", "1.62", "measured", ""},
		{nodeName(1), "195.0", "1.0", "300.0", "90.0", "26.2", "4.0", "0.0", "0.62", "measured", ""},
	}
	if diff := cmp.Diff(rows, table.Rows); diff != "" || len(table.Header) != len(rows[0]) {
		t.Errorf("%v (-want +got):\n%s", table.Header, diff)
	}
	if !strings.Contains(page.ExplanationText(e), "nothing is measured of its workload default/Pod/pod-1: it counts for 1 cores") {
		t.Errorf("text:\n%s", page.ExplanationText(e))
	}
}

// TestSignatureHasTheCores if they count, in tenths.
func TestSignatureHasTheCores(t *testing.T) {
	clock := newClock()
	running, like := podOfDeployment(1, "web"), podOfDeployment(2, "api")
	running.Spec.NodeName, like.Spec.NodeName = nodeName(0), nodeName(0)
	c := energyCluster(t, clock, 1, func(s *setup) { s.objects = append(s.objects, running, like) })
	args := c.args
	args.EnergyWeight = 0
	plain := c.second("plain", args)
	clock.advance(time.Second)
	s := c.open(c.dial(), nodeName(0))
	for i := range 4 {
		s.settle(agent.Report{
			Avail: float64(i), Pods: []reserve.PodKey{keyOf(1), keyOf(2)},
			PodCores: []float32{.52, .48}, PodWatts: []float32{1, 2}, Power: machine(1, 9),
		})
		clock.advance(5 * time.Second)
	}
	sign := func(p *profiled, pod *v1.Pod) string {
		t.Helper()
		fragments, status := p.SignPod(t.Context(), pod)
		if !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
		text, err := json.Marshal(fragments)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	web, api, idle := podOfDeployment(3, "web"), podOfDeployment(4, "api"), podOfDeployment(5, "idle")
	if a, b := sign(c.profiled, web), sign(c.profiled, api); a != b || !strings.Contains(a, `"Cores":0.5`) {
		t.Errorf("signed %s and %s", a, b)
	}
	if got := sign(c.profiled, idle); !strings.Contains(got, `"Cores":0.5`) { // the mean of both
		t.Errorf("signed %s", got)
	}
	if got := sign(plain, web); strings.Contains(got, "Cores") {
		t.Errorf("a profile without energy signs %s", got)
	}
}

// TestCoresOfProfiles: cores come from profiles where these decide, and from measurements elsewhere.
func TestCoresOfProfiles(t *testing.T) {
	for _, setting := range []string{"On", "Observe"} {
		t.Run(setting, func(t *testing.T) {
			clock := newClock()
			pod := podOfDeployment(1, "known")
			profileStore := newProfileStore(profileOf("known", clock.Now(), 3, gib))
			c := energyCluster(t, clock, 1, func(s *setup) {
				s.args.Profiles, s.options.Profiles, s.objects = setting, profileStore, append(s.objects, pod)
			})
			r := measured(4)
			r.Power = machine(40, 120)
			c.open(c.dial(), nodeName(0)).settle(r)
			c.eventually("the profile is loaded", func() bool {
				w := c.explain(pod).Workload
				return w != nil && w.Source == "profile"
			})
			want := map[string]float64{"On": 3, "Observe": 1}[setting]
			c.reserve(podOfDeployment(2, "known"), nodeName(0))
			if got := c.state(nodeName(0)).Energy.InFlightCores; got != want {
				t.Errorf("got %v cores in flight, want %v", got, want)
			}
			// The profile changes, and the cores with it.
			newer := profileOf("known", clock.Now().Add(time.Second), 2, gib)
			c.hub.Learn(&newer)
			if want--; setting == "Observe" {
				want = 1
			}
			if got := c.state(nodeName(0)).Energy.InFlightCores; got != want {
				t.Errorf("after the change: got %v cores in flight, want %v", got, want)
			}
		})
	}
}
