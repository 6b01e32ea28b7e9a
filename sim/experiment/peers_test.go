package experiment_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// scenario is a cluster on which peers decide differently.
type scenario struct {
	config sim.Config
	pods   []sim.Pod
	from   int // the pods before it are there by hand
}

// fewPods are small pods with next to no requests, one each five seconds.
func fewPods(n int, from float64) []sim.Pod {
	pods := make([]sim.Pod, n)
	for i := range pods {
		pods[i] = sim.Pod{Created: from + 5*float64(i), Work: .1, Request: baseline.Resources{CPU: .01}}
	}
	return pods
}

func background(first, second []float64, step float64) []sim.Series {
	return []sim.Series{{Step: step, Cores: first}, {Step: step, Cores: second}}
}

// peaks are .1 s each of four cores or none: four from .15 s before each multiple of a
// period on, for a length, all in seconds. What is before the workload is five seconds.
func peaks(span, period, length float64) []float64 {
	cores := make([]float64, int(10*span))
	for i := range cores {
		if math.Mod(float64(i)/10+.15, period) < length {
			cores[i] = 4
		}
	}
	return cores
}

// scenarios have two nodes of four cores.
func scenarios() map[string]scenario {
	// One pod on each node declares much and uses little, which LowRisk wants to see.
	beside := sim.Pod{Work: 500, Cores: .05, Request: baseline.Resources{CPU: .5}, Limit: baseline.Resources{CPU: 4}}
	pair := []sim.Pod{beside, beside}
	pair[0].On, pair[1].On = 1, 2
	limited := []sim.Pod{beside, beside}
	limited[0].On, limited[1].On = 1, 2
	limited[0].Limit.CPU, limited[1].Limit.CPU = 8, .5
	requested := sim.Pod{On: 1, Work: 5000, Cores: .01, Request: baseline.Resources{CPU: 2}}
	batch := make([]sim.Pod, 40)
	for i := range batch {
		batch[i] = sim.Pod{Work: 8}
	}
	return map[string]scenario{
		// The first node is full of undeclared load.
		"hidden": {sim.Config{Background: background([]float64{4}, []float64{0}, 1)}, append(pair, fewPods(20, 400)...), 2},
		// It was full for long, and now the second one is.
		"swapped": {sim.Config{Background: background([]float64{4, 0}, []float64{0, 4}, 1000)}, append(pair, fewPods(20, 1150)...), 2},
		// Half of the first node is requested, and unused.
		"requested": {sim.Config{}, append([]sim.Pod{requested}, fewPods(20, 200)...), 1},
		// Half of the first node is requested, and more of it is used by pods without requests.
		"loaded": {sim.Config{Background: background([]float64{2.4}, []float64{0}, 1)}, append([]sim.Pod{requested}, fewPods(20, 1150)...), 1},
		// The pod on the first node may use more than the node has, and both use nothing.
		"limited": {sim.Config{}, append(limited, fewPods(20, 200)...), 2},
		// The first node is full for .3 s each five seconds, when a pod comes.
		"peaks": {sim.Config{Background: background(peaks(1400, 5, .3), []float64{0}, .1)}, append(pair, fewPods(20, 400)...), 2},
		// Forty pods at once that declare nothing.
		"batch": {sim.Config{}, batch, 0},
		// The same beside a server on the first node.
		"server": {sim.Config{}, append([]sim.Pod{{On: 1, Server: node.Server{Rate: 1, Work: .001}}}, batch...), 1},
	}
}

// onFirst runs a scenario under a scheduler and returns how many of its pods went to the first
// node, and the most at the same time on a node.
func (s scenario) onFirst(t *testing.T, name string, seed uint64) (first, most int) {
	t.Helper()
	scheduler, err := experiment.SchedulerOf(name, experiment.Params{})
	if err != nil {
		t.Fatal(err)
	}
	c := s.config
	c.Nodes, c.Seed, c.Scheduler, c.Horizon = 2, seed, scheduler, 1400
	c.Latency = .001 // so that a pod is placed during the peak in which it comes
	r, err := sim.Run(t.Context(), c, s.pods)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range r.Records[s.from:] {
		if record.Node == 0 {
			first++
		}
	}
	return first, r.Most
}

// Every scheduler of the tables must differ from all others, so that one that is not plugged in, or
// is swapped, is found by name.
func TestEveryPeerIsPluggedIn(t *testing.T) {
	type expected struct {
		scenario  string
		low, high int // of the 20 or 40 pods on the first node
	}
	all, none, chance, some, few := [2]int{20, 20}, [2]int{0, 0}, [2]int{3, 17}, [2]int{1, 20}, [2]int{0, 6}
	of := func(name string, bounds [2]int) expected { return expected{name, bounds[0], bounds[1]} }
	// The window of 15 minutes still sees the load of the first node, the newest value
	// that of the second.
	watcher := []expected{of("hidden", none), of("swapped", none)}
	newest := []expected{of("hidden", none), of("swapped", all)}
	peers := map[string][]expected{
		experiment.Default:       {of("hidden", chance), of("requested", none)},
		"target-load-packing":    append(watcher, of("requested", some), of("loaded", none)), // in the place of kube-scheduler's scores
		"target-load-packing-ms": append(newest, of("requested", some), of("loaded", none)),
		"load-variation":         append(watcher, of("requested", none), of("limited", chance)), // beside them
		"load-variation-ms":      append(newest, of("requested", none), of("limited", chance)),
		// If both nodes are nearly empty, a point of its score takes so many pods that chance
		// decides where all others go. A node at 60 % is above the target of the two before and
		// below its own.
		"target-load-packing-tuned": append(newest, of("loaded", all)),
		"load-variation-tuned":      append(newest, of("requested", none), of("limited", chance)),
		"load-aware-tuned":          {of("hidden", none), of("requested", none)},
		"low-risk":                  append(watcher, of("requested", none), of("limited", none)),
		"low-risk-ms":               append(newest, of("requested", none), of("limited", none)),
		"load-aware":                {of("hidden", none), of("requested", none)},
		"round-robin":               {of("hidden", [2]int{10, 10}), of("requested", [2]int{10, 10})},
		"two-choices":               {of("hidden", none), of("swapped", all)},
		"coin":                      {of("hidden", chance), of("requested", chance)},
		experiment.Pronto:           {of("peaks", none), of("hidden", chance), of("requested", few)}, // blind to a load that lasts
		experiment.Spazio:           {of("hidden", none), of("swapped", all)},
	}
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for _, s := range experiment.Schedulers() {
		want, ok := peers[s.Name]
		if !ok {
			if !elsewhere[s.Name] && !countsOrRecommends(s.Name) {
				t.Errorf("%s: nothing shows that it is plugged in", s.Name)
			}
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			for _, e := range want {
				for seed := range seeds {
					if got, _ := scenarios()[e.scenario].onFirst(t, s.Name, seed); got < e.low || got > e.high {
						t.Errorf("%s, seed %d: %d pods on the first node, want %d to %d", e.scenario, seed, got, e.low, e.high)
					}
				}
			}
		})
	}
}

// elsewhere lists what other tests show to be plugged in.
var elsewhere = map[string]bool{
	// TestComputedRows
	"central-queue": true, "lower-bound": true,
	// TestReserving
	"spazio-reserve": true,
	// TestProntoDiffersFromAll
	experiment.ProntoCoin: true,
	// TestRequestsAreDeclared
	"requests-right": true, "requests-p98": true, "requests-wrong": true, "limit-range": true, "kueue": true, "batch-resources": true,
	// TestWhoEvicts
	"spazio-no-relief": true, "low-node-load": true, "low-node-utilization": true,
	// TestSourcesDiffer
	"source": true, "source-signal": true, "source-pooled": true, "source-cautious": true,
}

// With a reserve fewer pods go beside a server.
func TestReserving(t *testing.T) {
	for seed := range uint64(3) {
		reserved, _ := scenarios()["server"].onFirst(t, "spazio-reserve", seed)
		open, _ := scenarios()["server"].onFirst(t, experiment.Spazio, seed)
		if reserved >= open {
			t.Errorf("seed %d: %d pods beside the server with a reserve, %d without", seed, reserved, open)
		}
	}
}

// In a batch, among arrivals and beside undeclared load Pronto behaves like no other scheduler, nor
// like a coin that rejects as often: its rejections distinguish it from the default.
func TestProntoDiffersFromAll(t *testing.T) {
	if testing.Short() {
		return // one simulation after another
	}
	for _, c := range slices.Concat(
		cases(t, "b1", experiment.Params{Nodes: 3, Pods: 500}, experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}}),
		cases(t, "b2", experiment.Params{Nodes: 3, Duration: 60}, experiment.Sweep{Work: []float64{10}, Load: []float64{.8}}),
		cases(t, "h1", experiment.Params{Nodes: 3, Duration: 60, Trace: leapingTrace()}, experiment.Sweep{Load: []float64{.4}}),
	) {
		rows, err := experiment.Run(t.Context(), []experiment.Case{c}, experiment.Options{
			Schedulers: append(experiment.DefaultSchedulers(), experiment.ProntoCoin), Seeds: []uint64{1, 2},
		})
		if err != nil {
			t.Fatal(err)
		}
		of := map[string][]float64{}
		for _, r := range rows {
			if r.Metric == "makespan" || r.Metric == "sojourn_mean" {
				of[r.Scheduler] = append(of[r.Scheduler], r.Value)
			}
		}
		for name, values := range of {
			if name != experiment.Pronto && alike(values, of[experiment.Pronto]) {
				t.Errorf("%s: %s does as pronto", c.Label, name)
			}
			if name != experiment.ProntoCoin && alike(values, of[experiment.ProntoCoin]) {
				t.Errorf("%s: %s does as pronto's coin", c.Label, name)
			}
		}
	}
}

// alike reports whether values differ by no more than rounding.
func alike(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(x) })
}

// leapingTrace is a series that jumps from a tenth of a node to most of it.
func leapingTrace() fstest.MapFS {
	var b strings.Builder
	b.WriteString("timestamp,value\n")
	for i := range 60 {
		fmt.Fprintf(&b, "%d,%d\n", 10*i, 10+80*(i%3/2))
	}
	return fstest.MapFS{"a.csv": {Data: []byte(b.String())}}
}

// The thesis's algorithm fills nodes further than the default one, and each guard changes its
// decisions.
func TestSourcesDiffer(t *testing.T) {
	e, err := experiment.ByName("b1")
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Cases(experiment.Params{Nodes: 3, Pods: 120}, experiment.Sweep{Work: []float64{2}})
	if err != nil {
		t.Fatal(err)
	}
	var before []float64
	for _, name := range []string{experiment.Spazio, "source", "source-signal", "source-pooled", "source-cautious"} {
		rows, err := experiment.Run(t.Context(), c, experiment.Options{Schedulers: []string{name}, Seeds: []uint64{1}})
		if err != nil {
			t.Fatal(err)
		}
		var values []float64
		for _, r := range rows {
			values = append(values, r.Value)
		}
		if cmp.Equal(values, before) {
			t.Errorf("%s does as the one before", name)
		}
		before = values
	}
}

// Under the peers with requests, pods declare what the name implies: their own need, that of their
// owner's pods, or wrong values.
func TestRequestsAreDeclared(t *testing.T) {
	rows := func(name, scheduler string) map[string]float64 {
		c := cases(t, name, experiment.Params{Nodes: 2, Cores: 8, Pods: 60}, experiment.Sweep{Work: []float64{5}, Law: []workload.Law{workload.Equal}})
		all, err := experiment.Run(t.Context(), c, experiment.Options{Schedulers: []string{scheduler}, Seeds: []uint64{1}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, r := range all {
			got[r.Metric] = r.Value
		}
		return got
	}
	for _, scheduler := range []string{"requests-right", "requests-p98"} {
		if got := rows("b1", scheduler)["most_pods_per_core"]; got != 1 {
			t.Errorf("%s: %g pods a core at most, want one", scheduler, got)
		}
	}
	if right, p98 := rows("b4", "requests-right"), rows("b4", "requests-p98"); right["kills"] != 0 || p98["makespan"] <= right["makespan"] {
		t.Errorf("pods that differ: %g kills and %g s with the right requests, %g s with the owners'", right["kills"], right["makespan"], p98["makespan"])
	}
	if mean, right := rows("b4", "limit-range")["most_pods_per_core"], rows("b4", "requests-right")["most_pods_per_core"]; mean >= right {
		t.Errorf("the mean: %g pods a core at most, %g with the right requests", mean, right)
	}
	if got := rows("b1", "kueue")["most_pods_per_core"]; got != 1 {
		t.Errorf("behind a queue: %g pods a core at most, want one", got)
	}
	if got := rows("b1", "batch-resources")["most_pods_per_core"]; got != .5 { // 4 of 8 cores are within 60 %
		t.Errorf("batch resources: %g pods a core at most, want a half", got)
	}
	wrong, none := rows("b1", "requests-wrong"), rows("b1", experiment.Default)
	if wrong["most_pods_per_core"] <= 1 || wrong["makespan"] == none["makespan"] {
		t.Errorf("wrong: %g pods a core at most; %g s, %g where none is declared", wrong["most_pods_per_core"], wrong["makespan"], none["makespan"])
	}
}

// A fleet is read by its name, and every node is of its size.
func TestFleets(t *testing.T) {
	for _, name := range experiment.FleetNames() {
		sizes, err := experiment.SizesOf(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, s := range sizes {
			sum += s
		}
		if sum != 320 {
			t.Errorf("%s has %d cores", name, sum)
		}
	}
	sizes, err := experiment.SizesOf("2x4+1x64")
	if diff := cmp.Diff([]int{4, 4, 64}, sizes); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s, error %v", diff, err)
	}
	c := cases(t, "b1", experiment.Params{}, experiment.Sweep{Work: []float64{1}, Law: []workload.Law{workload.Equal}, Fleet: []string{"2x4+1x64"}})
	if got := c[0].Params; c[0].Label != "batch/work=1/law=equal/fleet=2x4+1x64" || got.Nodes != 3 || got.Cores != 0 || got.Pods != 13*72 ||
		got.Machines() != "2 nodes of 4 cores, 1 node of 64 cores" {
		t.Errorf("%s: %d nodes, %d cores, %d pods, %s", c[0].Label, got.Nodes, got.Cores, got.Pods, got.Machines())
	}
	if sizes, err := experiment.SizesOf("1x2+99999x1"); len(sizes) != 100_000 || err != nil {
		t.Errorf("the largest fleet has %d nodes, error %v", len(sizes), err)
	}
	for _, bad := range []string{"1x2+100000x1", "", "4", "0x4", "4x0", "ax4", "4xb", "1000000x4", "4x4+"} {
		var name *experiment.NameError
		if _, err := experiment.SizesOf(bad); !errors.As(err, &name) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}
