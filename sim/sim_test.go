package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// all are the schedulers that place pods.
var all = []sim.Scheduler{
	sim.Spazio{}, sim.Default{}, sim.TargetLoadPacking{}, sim.TargetLoadPacking{Latest: true},
	sim.LoadVariationRiskBalancing{}, sim.LowRiskOverCommitment{}, sim.LoadAware{},
	sim.RoundRobin{}, sim.TwoChoices{}, sim.Coin{}, sim.MostAllocated{}, sim.Peaks{},
}

// run runs a simulation, by default with next to no latency, so that times are easy to predict.
func run(t testing.TB, c sim.Config, pods []sim.Pod) sim.Result {
	t.Helper()
	if c.Latency == 0 {
		c.Latency = .001
	}
	r, err := sim.Run(t.Context(), c, pods)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mixed is a workload with some of everything.
func mixed(seed uint64, n int) []sim.Pod {
	rng := rand.New(rand.NewPCG(seed, 1))
	pods := make([]sim.Pod, n)
	for i := range pods {
		p := sim.Pod{Created: 30 * rng.Float64(), Work: 5 * rng.ExpFloat64(), Startup: node.StartupLatency(rng)}
		switch rng.IntN(4) {
		case 0:
			p.Cores, p.Memory = .2, 3e9
		case 1:
			p.Request = baseline.Resources{CPU: 1.5 * rng.Float64(), Memory: 1e9}
			p.Limit = baseline.Resources{CPU: 2 * rng.Float64()}
		}
		p.Work = math.Max(p.Work, .01)
		pods[i] = p
	}
	return append(pods, sim.Pod{On: 1, Server: node.Server{Rate: 20, Work: .01}})
}

// Under any scheduler every pod ends once, after it began, after it was bound, after it was
// created; none is faster than alone; and the work done is the submitted and the lost work.
func TestConservation(t *testing.T) {
	for _, overcommit := range []node.Overcommit{node.Evict, node.Kill, node.Swap} {
		for _, s := range all {
			t.Run(fmt.Sprintf("%T/%v", s, overcommit), func(t *testing.T) {
				for seed := range uint64(4) {
					pods := mixed(seed, 150)
					r := run(t, sim.Config{Nodes: 5, Node: node.Params{Overcommit: overcommit}, Scheduler: s, Seed: seed}, pods)
					conserved(t, r, overcommit)
				}
			})
		}
	}
}

func conserved(t *testing.T, r sim.Result, overcommit node.Overcommit) {
	t.Helper()
	work, kills := 0., 0
	for i, record := range r.Records {
		p := r.Pods[i]
		if p.Server.Rate > 0 {
			continue
		}
		kills += record.Kills
		if record.GaveUp {
			continue
		}
		work += p.Work
		if record.Node < 0 || record.Bound < p.Created || record.Running < record.Bound || record.Done < record.Running+p.Solo()-1e-5 {
			t.Errorf("pod %d of %+v: %+v", i, p, record)
		}
	}
	if got := r.Done - r.Lost; math.Abs(got-work) > 1e-4 {
		t.Errorf("%g core-seconds done and not lost, %g submitted", got, work)
	}
	if overcommit != node.Evict && gaveUp(r) > 0 {
		t.Error("a pod gave up")
	}
	if (overcommit == node.Swap) != (kills == 0) && kills > 0 {
		t.Errorf("%d kills", kills)
	}
	if overcommit != node.Swap && r.Overcommitted > 0 {
		t.Errorf("%g node-seconds over memory though pods are killed", r.Overcommitted)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	bytesOf := func(s sim.Scheduler) string {
		r := run(t, sim.Config{Nodes: 4, Scheduler: s, Seed: 9}, mixed(3, 60))
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, s := range all {
		runtime.GOMAXPROCS(1)
		one := bytesOf(s)
		runtime.GOMAXPROCS(4)
		if many := bytesOf(s); many != one {
			t.Errorf("%T: GOMAXPROCS changes the result", s)
		}
	}
}

// kube-scheduler keeps requests within the node, and retries when a pod has ended.
func TestDefaultHoldsRequests(t *testing.T) {
	var pods []sim.Pod
	for range 6 {
		pods = append(pods, sim.Pod{Work: 10, Request: baseline.Resources{CPU: 2}})
	}
	r := run(t, sim.Config{Nodes: 1, Scheduler: sim.Default{}, Seed: 1}, pods)
	if r.Most != 2 {
		t.Errorf("%d pods of 2 cores at once on 4", r.Most)
	}
	// Three rounds of 10 s, each with a back-off of at most 10 s.
	if r.End < 30 || r.End > 55 {
		t.Errorf("the last ends at %g s", r.End)
	}
}

// Under Spazio pods without requests do not pile up, and the next one is bound as soon as a report
// shows room.
func TestSpazioFillsAndWakes(t *testing.T) {
	pods := make([]sim.Pod, 60)
	for i := range pods {
		pods[i] = sim.Pod{Work: 10, Startup: .5}
	}
	c := sim.Config{Nodes: 2, Seed: 3}
	spazio := run(t, c, pods)
	c.Scheduler = sim.Default{}
	byDefault := run(t, c, pods)
	if spazio.Most > 12 || byDefault.Most != 30 {
		t.Errorf("most pods on a node: spazio %d, default %d of 60 on two", spazio.Most, byDefault.Most)
	}
	if spazio.End > 1.4*byDefault.End {
		t.Errorf("spazio ends at %g s, default at %g s", spazio.End, byDefault.End)
	}
}

// Only measurements see undeclared load.
func TestSpazioSeesHiddenLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	pods := make([]sim.Pod, 60)
	for i := range pods {
		pods[i] = sim.Pod{Created: 2 * float64(i), Work: 4, Startup: node.StartupLatency(rng)}
	}
	c := sim.Config{Nodes: 2, Seed: 3, Background: []sim.Series{{Step: 1, Cores: []float64{4}}, {Step: 1, Cores: []float64{0}}}}
	onLoaded := func(s sim.Scheduler) int {
		c.Scheduler = s
		n := 0
		for _, record := range run(t, c, pods).Records {
			if record.Node == 0 {
				n++
			}
		}
		return n
	}
	if spazio, byDefault := onLoaded(sim.Spazio{}), onLoaded(sim.Default{}); spazio > 6 || byDefault < 20 {
		t.Errorf("pods on the loaded node: spazio %d, default %d of 60", spazio, byDefault)
	}
}

// A signal that never counts is as good as none: by default pods go where kube-scheduler would have
// them, at slow start's pace; or nowhere or anywhere, by the policy.
func TestSpazioWithoutFreshSignals(t *testing.T) {
	pods := make([]sim.Pod, 40)
	for i := range pods {
		pods[i] = sim.Pod{Work: 1}
	}
	under := func(policy reserve.StalePolicy) sim.Result {
		freshness := reserve.Freshness{MaxAge: 1, Policy: policy}
		return run(t, sim.Config{Nodes: 2, Horizon: 600, Seed: 3, Scheduler: sim.Spazio{Freshness: freshness}}, pods)
	}
	if got := under(reserve.Allow).Most; got < 15 || got > 25 {
		t.Errorf("allow: %d of 40 pods at once on one of two nodes", got)
	}
	neutral := under(reserve.Neutral)
	if neutral.Most < 2 || neutral.Most > 8 {
		t.Errorf("neutral: %d pods at once on a node, want about what slow start lets through", neutral.Most)
	}
	for i, record := range neutral.Records {
		if record.Done < 0 {
			t.Errorf("neutral: pod %d never ended", i)
		}
	}
	if got := under(reserve.Reject).Most; got != 0 {
		t.Errorf("reject: %d pods at once on a node", got)
	}
}

// The first step on a node without a pod is a pod a core.
func TestSlowStartByCores(t *testing.T) {
	for _, cores := range []int{4, 16, 64} {
		pods := make([]sim.Pod, 3*cores)
		for i := range pods {
			pods[i] = sim.Pod{Work: 60, Startup: 10} // no report lists any before that
		}
		r := run(t, sim.Config{Nodes: 1, Node: node.Params{Cores: cores}, Scheduler: sim.Spazio{}, KubeletRate: 1e3, Seed: 5}, pods)
		ahead := 0
		for _, record := range r.Records {
			if record.Bound < 9 {
				ahead++
			}
		}
		// Daemons reduce the room for a part of a pod.
		if want := cores - 1; ahead != want {
			t.Errorf("%d cores: %d pods bound before any had started, want %d", cores, ahead, want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	ok := []sim.Pod{{Work: 1}}
	tests := []struct {
		name   string
		config sim.Config
		pods   []sim.Pod
		which  string
	}{
		{"nodes", sim.Config{Nodes: -1}, ok, "Nodes"},
		{"latency", sim.Config{Latency: math.NaN()}, ok, "Latency"},
		{"series", sim.Config{Background: []sim.Series{{}}}, ok, "Background[0]"},
		{"a step of nothing", sim.Config{Background: []sim.Series{{Cores: []float64{1}}}}, ok, "Background[0]"},
		{"load", sim.Config{Background: []sim.Series{{Step: 1, Cores: []float64{-1}}}}, ok, "Background[0].Cores"},
		{"work", sim.Config{}, []sim.Pod{{}}, "Pods[0].Work"},
		{"created", sim.Config{}, []sim.Pod{{Work: 1, Created: math.Inf(1)}}, "Pods[0].Created"},
		{"cores", sim.Config{}, []sim.Pod{{Work: 1, Cores: 5000}}, "Pods[0].Cores"},
		{"fewer threads than cores", sim.Config{}, []sim.Pod{{Work: 1, Cores: 2, Threads: 1}}, "Pods[0].Threads"},
		{"ramp", sim.Config{}, []sim.Pod{{Work: 1, Ramp: -1}}, "Pods[0].Ramp"},
		{"sizes", sim.Config{Nodes: 3, Sizes: []int{4, 4}}, ok, "Sizes"},
		{"a node of nothing", sim.Config{Sizes: []int{4, 0}}, ok, "Sizes[1]"},
		{"reserve", sim.Config{Reserved: &baseline.Resources{CPU: -1}}, ok, "Reserved"},
		{"no such node", sim.Config{Nodes: 3}, []sim.Pod{{Work: 1, On: 4}}, "Pods[0].On"},
		{"phases and work", sim.Config{}, []sim.Pod{{Work: 1, Phases: []node.Stage{{Seconds: 1}}}}, "Pods[0].Phases"},
		{"a phase of no time", sim.Config{}, []sim.Pod{{Phases: []node.Stage{{Cores: 1}}}}, "Pods[0].Phases[0]"},
		{"a service of nobody", sim.Config{Services: []sim.Service{{Workload: "a", Step: 1, Rates: []float64{1}, Target: 1}}}, nil, "Services[0].Workload"},
		{"a service without a target", sim.Config{Services: []sim.Service{{Workload: "a", Step: 1, Rates: []float64{1}}}}, anywhere, "Services[0].Target"},
		{"a service without rates", sim.Config{Services: []sim.Service{{Workload: "a", Step: 1, Target: 1}}}, anywhere, "Services[0].Step"},
		{"a service of too many", sim.Config{Services: []sim.Service{{Workload: "a", Step: 1, Rates: []float64{1}, Target: 1, Least: 2}}}, anywhere, "Services[0].Least"},
	}
	for _, test := range tests {
		_, err := sim.Run(t.Context(), test.config, test.pods)
		var which *field.Error
		if !errors.As(err, &which) || !errors.Is(err, sim.ErrInvalid) || which.Field != test.which {
			t.Errorf("%s: error %v, want one of %s", test.name, err, test.which)
		}
	}
	if _, err := sim.Run(t.Context(), sim.Config{Node: node.Params{Cores: -1}}, ok); err == nil {
		t.Error("a node of −1 cores")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sim.Run(ctx, sim.Config{}, ok); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// Nodes of different sizes have as much memory a core, take pods by their capacity, and count by
// their cores.
func TestSizes(t *testing.T) {
	pods := slicesOf(40, sim.Pod{Work: 10, Request: baseline.Resources{CPU: 1, Memory: 3 << 30}})
	r := run(t, sim.Config{Sizes: []int{4, 16}, Scheduler: sim.Default{}, Seed: 1}, pods)
	if r.Nodes != 2 || r.Cores != 20 || r.Most != 16 || r.MostPerCore != 1 {
		t.Errorf("%d nodes, %g cores, at most %d pods on a node and %g a core; want 2, 20, 16 and 1", r.Nodes, r.Cores, r.Most, r.MostPerCore)
	}
	spazio := run(t, sim.Config{Sizes: []int{4, 16}, Seed: 1}, slicesOf(100, sim.Pod{Work: 10}))
	on := [2]int{}
	for _, record := range spazio.Records {
		on[record.Node]++
	}
	if on[1] < 2*on[0] || spazio.MostPerCore > 3 {
		t.Errorf("spazio: %v pods on 4 and 16 cores, at most %g a core", on, spazio.MostPerCore)
	}
}

func TestHorizon(t *testing.T) {
	r := run(t, sim.Config{Horizon: 20, Scheduler: sim.Default{}}, []sim.Pod{{Work: 1e6}, {Work: 1}})
	if r.End != 20 || r.Records[0].Done != -1 || r.Records[1].Done < 1 {
		t.Errorf("ends at %g, records %+v", r.End, r.Records)
	}
}

func TestSummarise(t *testing.T) {
	r := sim.Result{
		Nodes: 1, Cores: 2, End: 12, Span: 20, Busy: 10, Most: 3, MostPerCore: 1.5, Done: 9, Lost: 1,
		Pods: []sim.Pod{{Created: 2, Work: 4}, {Created: 3, Work: 2, Cores: .5}, {Created: 4, Work: 1}},
		Records: []sim.Record{
			{Bound: 3, Running: 4, Done: 12}, {Bound: 3.5, Running: 4, Done: 8, Kills: 1, Evictions: 3}, {Bound: 11, Done: -1},
		},
		Responses: []float64{1, 3}, Unserved: 7, Failed: 2,
	}
	want := map[string]float64{
		"useful_share": .4, "makespan": 10, "run_mean": 6, "run_p50": 4, "run_p95": 8, "run_p99": 8,
		"sojourn_mean": (10 + 5 + 8) / 3., "sojourn_p50": 8, "sojourn_p95": 10, "sojourn_p99": 10, "sojourn_work_mean": (4*10 + 2*5 + 1*8) / 7., "lost_work": 1,
		"slowdown_mean": 1.5, "slowdown_p50": 1, "slowdown_p95": 2, "slowdown_p99": 2,
		"slowdown_jain": .9, "wait_max": 7, "unfinished": 1, "gave_up": 0, "least_share": 1, "kills": 1, "evictions": 3, "most_pods_per_core": 1.5,
		"cpu_wait": 0, "memory_overload": 0, "utilisation": .25,
		"server_unserved": 7, "server_failed": 2, "server_p99_offered": 12, "server_mean": 2, "server_p50": 1, "server_p95": 3, "server_p99": 3,
	}
	got := map[string]float64{}
	for _, m := range sim.Summarise(r) {
		got[m.Name] = m.Value
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// A pod whose Job gave up exists until the end of the run, and has no run of its own.
	r.Records[2].GaveUp = true
	for _, m := range sim.Summarise(r) {
		want, ok := map[string]float64{"gave_up": 1, "unfinished": 0, "sojourn_mean": (10 + 5 + 8) / 3., "run_mean": 6}[m.Name]
		if ok && math.Abs(m.Value-want) > 1e-9 {
			t.Errorf("with one that gave up: %s is %g, want %g", m.Name, m.Value, want)
		}
	}
	r.Records[2].GaveUp = false

	// Of 200 requests two without a response are no more than a hundredth.
	r.Responses, r.Unserved, r.Failed = append(slices.Repeat([]float64{1}, 197), 3), .6, 1
	// One that waits for a node has waited until the end of the run, unless its Job gave up.
	waits := func() {
		for _, m := range sim.Summarise(r) {
			want, ok := map[string]float64{"wait_max": map[bool]float64{false: 8, true: 1}[r.Records[2].GaveUp], "server_p99_offered": 3}[m.Name]
			if ok && m.Value != want {
				t.Errorf("gave up %v: %s is %g, want %g", r.Records[2].GaveUp, m.Name, m.Value, want)
			}
		}
	}
	r.Records[2].Bound = -1
	waits()
	r.Records[2].GaveUp = true
	waits()
	r.Records[2].Bound, r.Records[2].GaveUp = 11, false

	// Residents wait for nothing, and have their own slowdown.
	r.Pods[1].On, r.Records[1].Bound = 1, 30
	for _, m := range sim.Summarise(r) {
		want, ok := map[string]float64{"wait_max": 7, "resident_slowdown_mean": 1, "resident_slowdown_p99": 1, "slowdown_p99": 2}[m.Name]
		if ok && m.Value != want {
			t.Errorf("with a resident: %s is %g, want %g", m.Name, m.Value, want)
		}
	}
}
