package node_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/node"
)

func newModel(t testing.TB, p node.Params) *node.Model {
	t.Helper()
	m, err := node.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// quiet are parameters without randomness, daemons or a kubelet.
func quiet(cores int) node.Params {
	return node.Params{Cores: cores, Background: 1e-12, StartWork: 1, StopWork: 1, Noise: 1e-12, Overcommit: node.Kill}
}

func bind(t testing.TB, m *node.Model, p node.Pod) {
	t.Helper()
	if err := m.Bind(m.Now(), p); err != nil {
		t.Fatal(err)
	}
}

func bindMany(t testing.TB, m *node.Model, pods int, work, memory float64) {
	t.Helper()
	for i := range pods {
		bind(t, m, node.Pod{ID: node.PodID(i), Work: work, Memory: memory, Startup: 1})
	}
}

func TestPodsShareCores(t *testing.T) {
	tests := []struct {
		name   string
		cores  int
		pods   int
		memory float64
		want   float64 // seconds of run time
	}{
		{"alone", 4, 1, 0, 10},
		{"a core each", 4, 4, 0, 10},
		{"two a core", 4, 8, 0, 20},
		{"five on four", 4, 5, 0, 12.5},
		{"memory full to the brim", 4, 2, .47, 10},
		{"memory exceeded", 4, 2, .6, 50},
		{"memory and cores exceeded", 1, 10, .2, 500},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := quiet(test.cores)
			p.Memory, p.Overcommit = 1<<30, node.Swap
			m := newModel(t, p)
			bindMany(t, m, test.pods, 10, test.memory*p.Memory)
			ends := 0
			for _, event := range m.AdvanceTo(nil, 1000) {
				if event.Phase != node.Succeeded {
					continue
				}
				ends++
				if ran := event.At - 1; math.Abs(ran-test.want) > 1e-3 {
					t.Errorf("a pod ran %.4f s, want %g", ran, test.want)
				}
			}
			if ends != test.pods {
				t.Errorf("%d pods ended, want %d", ends, test.pods)
			}
			if got, want := m.Totals().Pods, 10*float64(test.pods); math.Abs(got-want) > 1e-3 {
				t.Errorf("%g core-seconds done, want %g", got, want)
			}
		})
	}
}

// Rates fill like water: no pod gets more than it wants, and the rest goes to the others by weight.
func TestWeightsAndWants(t *testing.T) {
	tests := []struct {
		name string
		pods []node.Pod
		want []float64 // cores that each gets on two
	}{
		{"equal", []node.Pod{{}, {}, {}, {}}, []float64{.5, .5, .5, .5}},
		{"by weight", []node.Pod{{Weight: 3}, {Weight: 1}, {Weight: 1}, {Weight: 1}}, []float64{1, 1. / 3, 1. / 3, 1. / 3}},
		{"by weight, none satisfied", []node.Pod{{Weight: 2}, {Weight: 2}, {}, {}, {}, {}}, []float64{.5, .5, .25, .25, .25, .25}},
		{"sleepers get what they want", []node.Pod{{Cores: .1}, {}, {}, {}}, []float64{.1, 1.9 / 3, 1.9 / 3, 1.9 / 3}},
		{"a light sleeper", []node.Pod{{Cores: .5, Weight: .1}, {}, {}, {}}, []float64{.2 / 3.1, 2 / 3.1, 2 / 3.1, 2 / 3.1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newModel(t, quiet(2))
			for i, p := range test.pods {
				p.ID, p.Work = node.PodID(i), 1e6
				bind(t, m, p)
			}
			m.AdvanceTo(nil, 100)
			var got []float64
			for i := range test.pods {
				done, ok := m.Progress(node.PodID(i))
				if !ok {
					t.Fatalf("pod %d is not there", i)
				}
				got = append(got, done/100)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Errorf("cores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLifeOfAPod(t *testing.T) {
	m := newModel(t, node.Params{Background: 1e-12, Noise: 1e-12})
	if err := m.Bind(1, node.Pod{ID: 7, Work: 2, Startup: 1.5}); err != nil {
		t.Fatal(err)
	}
	got := m.AdvanceTo(nil, 10)
	want := []node.Transition{
		{At: 2.2, Pod: 7, Phase: node.Starting},
		{At: 2.5, Pod: 7, Phase: node.Running},
		{At: 4.5, Pod: 7, Phase: node.Succeeded},
		{At: 4.5, Pod: 7, Phase: node.Removed},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
	if _, ok := m.NextChange(); ok {
		t.Error("an empty node expects a change")
	}
	// .3 core-seconds of start, 2 of work, .1 of stop.
	if busy := m.Totals().Busy; math.Abs(busy-2.4) > 1e-6 {
		t.Errorf("busy %g core-seconds, want 2.4", busy)
	}
}

// The reading over a window of a minute with n running pods.
func reading(t testing.TB, p node.Params, pods int) node.Reading {
	t.Helper()
	m := newModel(t, p)
	bindMany(t, m, pods, 3600, 0)
	m.AdvanceTo(nil, 5)
	m.Read()
	m.AdvanceTo(nil, 65)
	r, ok := m.Read()
	if !ok {
		t.Fatal("no reading")
	}
	return r
}

func TestPressureAgainstPodCount(t *testing.T) {
	tests := []struct {
		pods                     int
		minPressure, maxPressure float64
		utilisation              float64
	}{
		{0, 0, .01, .0075},
		{2, 0, .01, .5075},
		{3, 0, .02, .7575},
		{4, .004, .05, 1},
		{5, .25, .3, 1},
		{6, .5, .55, 1},
		{7, .75, .8, 1},
		{8, .99, 1, 1},
		{12, .99, 1, 1},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint("pods=", test.pods), func(t *testing.T) {
			r := reading(t, node.Params{Noise: 1e-12, Seed: 7, Balanced: true}, test.pods)
			if r.Pressure < test.minPressure || r.Pressure > test.maxPressure {
				t.Errorf("pressure %.3f, want %g to %g", r.Pressure, test.minPressure, test.maxPressure)
			}
			if math.Abs(r.Utilisation-test.utilisation) > .01 {
				t.Errorf("utilisation %.3f, want %g", r.Utilisation, test.utilisation)
			}
		})
	}
}

func TestReadRoundsToJiffies(t *testing.T) {
	m := newModel(t, quiet(2))
	bindMany(t, m, 1, 3600, 0)
	m.AdvanceTo(nil, 3)
	m.Read()
	for i := range 100 {
		m.AdvanceTo(nil, 3.1+float64(i)/10+.0037)
		r, ok := m.Read()
		if !ok {
			t.Fatal("no reading")
		}
		if r.Utilisation < .4 || r.Utilisation > .6 {
			t.Fatalf("sample %d: utilisation %g is more than two jiffies from .5", i, r.Utilisation)
		}
	}
	if _, ok := m.Read(); ok {
		t.Error("a reading over no time")
	}
}

// Init containers run one after the other, each with its own start, and the sandbox outlives the
// last container.
func TestLifeOfAPodWithInits(t *testing.T) {
	for _, cores := range []float64{0, .5, 1} {
		m := newModel(t, node.Params{Background: 1e-12, Noise: 1e-12, Teardown: 700 * time.Millisecond})
		p := node.Pod{ID: 7, Work: 2, Startup: 1, Init: node.Init{Containers: 2, Seconds: 3, Cores: cores, Gap: .5}}
		if err := m.Bind(0, p); err != nil {
			t.Fatal(err)
		}
		want := []node.Transition{
			{At: .7, Pod: 7, Phase: node.Starting},
			{At: 1, Pod: 7, Phase: node.Initialising},
			{At: 4, Pod: 7, Phase: node.Initialised},
			{At: 4.2, Pod: 7, Phase: node.Starting},
			{At: 4.5, Pod: 7, Phase: node.Initialising},
			{At: 7.5, Pod: 7, Phase: node.Initialised},
			{At: 7.7, Pod: 7, Phase: node.Starting},
			{At: 8, Pod: 7, Phase: node.Running},
			{At: 10, Pod: 7, Phase: node.Succeeded},
			{At: 10.7, Pod: 7, Phase: node.Removed},
		}
		if diff := cmp.Diff(want, m.AdvanceTo(nil, 20), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Errorf("init containers of %v cores (-want +got):\n%s", cores, diff)
		}
		// Three starts of .3, two init containers, the work, three stops of .1.
		if got, want := m.Totals().Busy, .9+6*cores+2+.3; math.Abs(got-want) > 1e-4 {
			t.Errorf("init containers of %v cores: %g core-seconds, want %g", cores, got, want)
		}
		if got := m.Totals().Pods; math.Abs(got-2) > 1e-6 {
			t.Errorf("%g core-seconds of pods' work, want 2", got)
		}
	}
}

// A pod that is killed in its init container takes no core any more.
func TestKillInInit(t *testing.T) {
	m := newModel(t, node.Params{Background: 1e-12, StopWork: 1})
	bind(t, m, node.Pod{ID: 1, Work: 1, Init: node.Init{Containers: 1, Seconds: 100, Cores: 1}})
	m.AdvanceTo(nil, 5)
	if !m.Kill(1) {
		t.Fatal("not there")
	}
	before := m.Totals().Busy
	m.AdvanceTo(nil, 50)
	if got := m.Totals().Busy - before; got > .01 {
		t.Errorf("%g core-seconds after the pod was killed", got)
	}
}

// Cutting a span into steps, with readings between, must not change the result.
func TestStepsDoNotMatter(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		params := node.Params{Seed: seed, Teardown: time.Duration(seed) * 100 * time.Millisecond, Steal: float64(seed%3) / 10, Overcommit: node.Swap}
		if seed%2 == 1 {
			params.Crowding = node.Crowding{Each: .6, Most: .8} // of pods that walk through 16 MiB
		}
		whole, cut := newModel(t, params), newModel(t, params)
		transitions := 0
		for i := range 12 {
			p := node.Pod{
				ID: node.PodID(i), Work: rng.ExpFloat64() * 5, Weight: float64(1 + i%3), Cores: 1 / float64(1+i%2),
				Memory: rng.Float64() * 4e9, Ramp: float64(i%4) * rng.Float64(), Threads: 1 + i%3, Startup: node.StartupLatency(rng),
				Init: node.Init{Containers: i % 3, Seconds: 2 * rng.Float64(), Cores: float64(i % 2), Gap: rng.Float64()},
			}
			transitions += 4 + 3*p.Init.Containers
			bind(t, whole, p)
			bind(t, cut, p)
		}
		want := whole.AdvanceTo(nil, 300)
		var got []node.Transition
		for now := 0.; now < 300; {
			now += rng.Float64() / 5
			got = cut.AdvanceTo(got, now)
			cut.Read()
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
			t.Fatalf("seed %d (-whole +cut):\n%s", seed, diff)
		}
		whole.AdvanceTo(nil, cut.Now())
		if diff := cmp.Diff(whole.Totals(), cut.Totals(), cmpopts.EquateApprox(1e-9, 1e-3)); diff != "" {
			t.Fatalf("seed %d: totals (-whole +cut):\n%s", seed, diff)
		}
		if len(want) != transitions {
			t.Fatalf("seed %d: %d transitions, want %d", seed, len(want), transitions)
		}
	}
}

func TestBackgroundTakesItsShare(t *testing.T) {
	m := newModel(t, quiet(4))
	bindMany(t, m, 4, 10, 0)
	if err := m.SetBackground(4); err != nil {
		t.Fatal(err)
	}
	ends := m.AdvanceTo(nil, 100)
	if got := ends[len(ends)-1].At; math.Abs(got-21) > 1e-3 {
		t.Errorf("four pods beside four threads end at %g, want 21", got)
	}
	m.Read()
	if err := m.SetBackground(1); err != nil {
		t.Fatal(err)
	}
	m.AdvanceTo(nil, 200)
	if r, _ := m.Read(); math.Abs(r.Utilisation-.25) > 1e-3 {
		t.Errorf("utilisation %g of a core in four", r.Utilisation)
	}
	if err := m.SetBackground(0); err != nil {
		t.Fatal(err)
	}
	m.AdvanceTo(nil, 300)
	if r, _ := m.Read(); !(r.Utilisation <= 1e-3) {
		t.Errorf("utilisation %g of nothing", r.Utilisation)
	}
	if err := m.SetBackground(math.NaN()); !errors.Is(err, node.ErrBadPod) {
		t.Errorf("NaN: error %v", err)
	}
}

// Pods that take turns on a core are slower by a share a pod, up to a limit; they still hold whole
// cores.
func TestCrowding(t *testing.T) {
	for _, test := range []struct {
		pods int
		end  float64 // 1 s to start, 10 core-seconds each on 4 cores
	}{
		{4, 1 + 10}, {8, 1 + 20*1.1}, {16, 1 + 40*1.3}, {80, 1 + 200*1.6},
	} {
		params := quiet(4)
		params.Crowding = node.Crowding{Each: .1, Most: .6}
		m := newModel(t, params)
		bindMany(t, m, test.pods, 10, 0)
		ends := m.AdvanceTo(nil, 1000)
		if got := ends[len(ends)-1].At; math.Abs(got-test.end) > .01 {
			t.Errorf("%d pods end at %g, want %g", test.pods, got, test.end)
		}
		if got, want := m.Totals().Busy, 4*(test.end-1); math.Abs(got-want) > .1 {
			t.Errorf("%d pods held the cores for %g core-seconds, want %g", test.pods, got, want)
		}
	}
}

// The largest pod goes first; its work is lost, and the others continue.
func TestMemoryKill(t *testing.T) {
	p := quiet(4)
	p.Memory = 100
	m := newModel(t, p)
	for i, memory := range []float64{30, 40, 35} {
		bind(t, m, node.Pod{ID: node.PodID(i), Work: 10, Memory: memory, Startup: float64(1 + i)})
	}
	var failed []node.Transition
	for _, event := range m.AdvanceTo(nil, 100) {
		if event.Phase == node.Failed {
			failed = append(failed, event)
		}
	}
	want := []node.Transition{{At: 3, Pod: 1, Phase: node.Failed}}
	if diff := cmp.Diff(want, failed, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("killed (-want +got):\n%s", diff)
	}
	totals := m.Totals()
	if math.Abs(totals.Pods-21) > 1e-3 || math.Abs(totals.Lost-1) > 1e-3 || totals.Overcommitted != 0 {
		t.Errorf("totals %+v, want 21 core-seconds done and 1 of them lost", totals)
	}
}

func TestKill(t *testing.T) {
	m := newModel(t, quiet(4))
	bindMany(t, m, 2, 60, 0)
	m.AdvanceTo(nil, 2)
	if !m.Kill(0) || m.Kill(0) {
		t.Error("Kill does not say whether the pod was there")
	}
	if got := m.Running(nil); !slices.Equal(got, []node.PodID{1}) {
		t.Errorf("running pods %v", got)
	}
}

func TestBindRejects(t *testing.T) {
	m := newModel(t, node.Params{})
	bindMany(t, m, 1, 1, 0)
	tests := []struct {
		name string
		pod  node.Pod
		want error
	}{
		{"negative work", node.Pod{ID: 2, Work: -1}, node.ErrBadPod},
		{"NaN memory", node.Pod{ID: 2, Memory: math.NaN()}, node.ErrBadPod},
		{"negative startup", node.Pod{ID: 2, Startup: -1}, node.ErrBadPod},
		{"more cores than threads", node.Pod{ID: 2, Cores: 2, Threads: 1}, node.ErrBadPod},
		{"too many cores", node.Pod{ID: 2, Cores: node.MaxThreads + 1}, node.ErrBadPod},
		{"negative threads", node.Pod{ID: 2, Threads: -1}, node.ErrBadPod},
		{"negative ramp", node.Pod{ID: 2, Ramp: -1}, node.ErrBadPod},
		{"a server without work", node.Pod{ID: 2, Server: node.Server{Rate: 1}}, node.ErrBadPod},
		{"a server with work of its own", node.Pod{ID: 2, Work: 1, Server: node.Server{Rate: 1, Work: 1}}, node.ErrBadPod},
		{"twice", node.Pod{}, node.ErrDuplicatePod},
	}
	for _, test := range tests {
		if err := m.Bind(0, test.pod); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
	if err := m.Bind(math.Inf(1), node.Pod{ID: 2}); !errors.Is(err, node.ErrBadPod) {
		t.Errorf("at no time: error %v", err)
	}
}

func TestParamsValidate(t *testing.T) {
	tests := []struct {
		name   string
		params node.Params
	}{
		{"", node.Params{}},
		{"Cores", node.Params{Cores: -1}},
		{"Memory", node.Params{Memory: math.Inf(1)}},
		{"BaseMemory", node.Params{BaseMemory: 1}},
		{"Background", node.Params{Background: 3}},
		{"StartWork", node.Params{StartWork: -1}},
		{"StopWork", node.Params{StopWork: -1}},
		{"Overcommit", node.Params{Overcommit: node.Swap + 1}},
		{"Steal", node.Params{Steal: 1}},
		{"Crowding.Each", node.Params{Crowding: node.Crowding{Each: -1}}},
		{"Crowding.Most", node.Params{Crowding: node.Crowding{Most: math.Inf(1)}}},
		{"Noise", node.Params{Noise: math.NaN()}},
	}
	for _, test := range tests {
		_, err := node.New(test.params)
		var name *field.Error
		if test.name == "" {
			if err != nil {
				t.Errorf("the zero value: %v", err)
			}
		} else if !errors.As(err, &name) || !errors.Is(err, node.ErrInvalid) || name.Field != test.name {
			t.Errorf("error %v, want one of %s", err, test.name)
		}
	}
}

func TestStartupLatencyQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	draws := make([]float64, 20000)
	for i := range draws {
		draws[i] = node.StartupLatency(rng)
	}
	slices.Sort(draws)
	for _, q := range []struct{ p, want float64 }{{.5, 1}, {.99, 4}} {
		got := draws[int(q.p*float64(len(draws)))]
		if math.Abs(got-q.want) > .1*q.want {
			t.Errorf("p%g = %.2f s, want %g", 100*q.p, got, q.want)
		}
	}
}

func BenchmarkAdvance(b *testing.B) {
	for _, pods := range []int{0, 4, 16, 64} {
		b.Run(fmt.Sprint("pods=", pods), func(b *testing.B) {
			m := newModel(b, node.Params{})
			bindMany(b, m, pods, 3.6e9, 0)
			b.ReportAllocs()
			now := 0.
			for b.Loop() {
				now += .1
				m.AdvanceTo(nil, now)
				m.Read()
			}
		})
	}
}

// A caller that wakes at NextChange misses no change and sees it at its time, although starts and
// daemons come and go in between.
func TestNextChangeComesFirst(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		m := newModel(t, node.Params{Seed: seed, Cores: 2})
		for i := range 10 {
			bind(t, m, node.Pod{
				ID: node.PodID(i), Work: rng.ExpFloat64() * 3, Startup: 10 * rng.Float64(),
				Init: node.Init{Containers: i % 2, Seconds: rng.Float64(), Cores: float64(i / 5)},
			})
		}
		bind(t, m, node.Pod{ID: 99, Server: node.Server{Rate: 20, Work: .01}})
		seen := 0
		for {
			at, ok := m.NextChange()
			if !ok {
				break
			}
			for _, e := range m.AdvanceTo(nil, at) {
				if e.At < at-1e-6 {
					t.Fatalf("seed %d: %v at %g, not before %g expected", seed, e, e.At, at)
				}
				seen++
			}
		}
		if want := 10*4 + 5*3 + 2; seen != want { // the server never ends
			t.Errorf("seed %d: %d transitions, want %d", seed, seen, want)
		}
	}
}

// Init containers and requests swap like pods.
func TestSwapSlowsAll(t *testing.T) {
	p := quiet(8)
	p.Memory, p.Overcommit = 100, node.Swap
	m := newModel(t, p) // slowed five times
	bind(t, m, node.Pod{ID: 1, Work: 1e6, Memory: 200})
	bind(t, m, node.Pod{ID: 2, Work: 1, Startup: 1, Init: node.Init{Containers: 1, Seconds: 2, Cores: 1}})
	bind(t, m, node.Pod{ID: 3, Server: node.Server{Rate: 2, Work: .01}})
	for _, e := range m.AdvanceTo(nil, 5000) {
		if e.Phase == node.Initialised && math.Abs(e.At-11) > 1e-3 {
			t.Errorf("the init container of 2 s ends at %g, want 11", e.At)
		}
	}
	responses := m.Responses(nil)
	if n := len(responses); n < 9500 || n > 10500 {
		t.Errorf("%d responses, want about 10,000", n)
	}
	sum := 0.
	for _, r := range responses {
		sum += r
	}
	if mean := sum / float64(len(responses)); math.Abs(mean-.05) > .003 {
		t.Errorf("mean response %g s, want five times .01", mean)
	}
	if got := m.Totals().Overcommitted; math.Abs(got-5000) > 1e-3 {
		t.Errorf("%g s over memory, want 5000", got)
	}
}

// Two pods wait for one core until both end, and memory that is just full is
// not over-committed.
func TestTotalsOfFullNode(t *testing.T) {
	p := quiet(1)
	p.Memory, p.BaseMemory = 100, .25
	m := newModel(t, p)
	bind(t, m, node.Pod{ID: 1, Work: 10, Memory: 50})
	bind(t, m, node.Pod{ID: 2, Work: 10, Memory: 25})
	m.AdvanceTo(nil, 100)
	got := m.Totals()
	if math.Abs(got.Waited-20) > 1e-3 || got.Overcommitted != 0 {
		t.Errorf("waited %g s, over memory %g s, want 20 and 0", got.Waited, got.Overcommitted)
	}
}

func TestPhaseNames(t *testing.T) {
	for phase, want := range map[node.Phase]string{node.Bound: "Bound", node.Evicted: "Evicted", node.Evicted + 1: "Phase(12)"} {
		if got := phase.String(); got != want {
			t.Errorf("phase %d is %q, want %q", phase, got, want)
		}
	}
}

// A pod of several threads takes at most that many cores, weighs as much as one of a single thread
// beside others, and ends once.
func TestThreads(t *testing.T) {
	tests := []struct {
		name  string
		cores int
		pods  []node.Pod
		want  []float64 // ends
	}{
		{"on a large node", 16, []node.Pod{{Work: 40, Cores: 4}}, []float64{10}},
		{"a part of a core left", 16, []node.Pod{{Work: 40, Cores: 2.5}}, []float64{16}},
		{"on a small node", 2, []node.Pod{{Work: 40, Cores: 4}}, []float64{20}},
		// Two cores: one each, for the groups weigh alike; then both for the one left.
		{"beside another", 2, []node.Pod{{Work: 30, Cores: 8}, {Work: 10}}, []float64{20, 10}},
		{"threads that sleep", 4, []node.Pod{{Work: 10, Cores: 1, Threads: 8}}, []float64{10}},
	}
	for _, test := range tests {
		m := newModel(t, quiet(test.cores))
		for i, p := range test.pods {
			p.ID = node.PodID(i)
			bind(t, m, p)
		}
		ends := make([]float64, len(test.pods))
		for _, e := range m.AdvanceTo(nil, 1000) {
			if e.Phase == node.Succeeded {
				if ends[e.Pod] > 0 {
					t.Errorf("%s: pod %d ended twice", test.name, e.Pod)
				}
				ends[e.Pod] = e.At
			}
		}
		if diff := cmp.Diff(test.want, ends, cmpopts.EquateApprox(0, 1e-3)); diff != "" {
			t.Errorf("%s: ends (-want +got):\n%s", test.name, diff)
		}
	}
}

// All threads of a waiting pod are seen waiting.
func TestThreadsWait(t *testing.T) {
	m := newModel(t, quiet(4))
	bind(t, m, node.Pod{ID: 1, Work: 1e6, Cores: 6})
	for i := range 10 {
		m.AdvanceTo(nil, 1+float64(i))
		m.Read()
	}
	m.AdvanceTo(nil, 20)
	if r, _ := m.Read(); math.Abs(r.Waiting-.5) > .01 {
		t.Errorf("%g threads a core wait, want .5: two of six on four", r.Waiting)
	}
	if done, _ := m.Progress(1); math.Abs(done-80) > 1e-3 {
		t.Errorf("%g core-seconds done, want 80", done)
	}
	if !m.Kill(1) {
		t.Fatal("not there")
	}
	if m.AdvanceTo(nil, 30); m.Totals().Busy > 80.1 {
		t.Errorf("%g core-seconds, some after the kill", m.Totals().Busy)
	}
}

// Growing memory kills when it exceeds the node's, with the work until then.
func TestRampKills(t *testing.T) {
	p := quiet(4)
	p.Memory = 100 // the system takes 5
	m := newModel(t, p)
	bind(t, m, node.Pod{ID: 1, Work: 100, Memory: 50})
	bind(t, m, node.Pod{ID: 2, Work: 100, Memory: 60, Ramp: 20}) // 6 more every 2 s: 48 at 14 s
	if at, ok := m.NextChange(); !ok || at > 2+1e-6 {
		t.Errorf("the next change at %g, want at most 2 s", at)
	}
	var failed []node.Transition
	for _, e := range m.AdvanceTo(nil, 50) {
		if e.Phase == node.Failed {
			failed = append(failed, e)
		}
	}
	// 5 + 50 + 48 are too much; the first holds more by then.
	want := []node.Transition{{At: 14, Pod: 1, Phase: node.Failed}}
	if diff := cmp.Diff(want, failed, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("killed (-want +got):\n%s", diff)
	}
	if got := m.Totals().Lost; math.Abs(got-14) > 1e-3 {
		t.Errorf("%g core-seconds lost, want 14", got)
	}
	if got := m.Memory(); math.Abs(got-65) > 1e-6 {
		t.Errorf("%g bytes held, want 65", got)
	}
}

// A pod that is killed before it runs never does.
func TestKilledPodsDoNotStart(t *testing.T) {
	m, err := node.New(node.Params{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Bind(0, node.Pod{ID: 1, Work: 1, Startup: 2}); err != nil {
		t.Fatal(err)
	}
	if !m.Kill(1) {
		t.Fatal("it was not there")
	}
	if got := m.AdvanceTo(nil, 60); len(got) > 0 {
		t.Errorf("after its kill: %+v", got)
	}
	if at, ok := m.NextChange(); ok {
		t.Errorf("something is to change at %g s", at)
	}
}

// The later memory of a pod that has ended changes nothing any more.
func TestEndedPodsDoNotGrow(t *testing.T) {
	m, err := node.New(node.Params{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Bind(0, node.Pod{ID: 1, Work: 1, Memory: 1 << 30, Ramp: 100}); err != nil {
		t.Fatal(err)
	}
	m.AdvanceTo(nil, 30)
	if at, ok := m.NextChange(); ok {
		t.Errorf("at 30 s something is to change at %g s", at)
	}
}

func TestOvercommitTexts(t *testing.T) {
	for want, text := range []string{"evict", "kill", "swap"} {
		var got node.Overcommit
		if err := got.UnmarshalText([]byte(text)); err != nil || int(got) != want {
			t.Errorf("%q: %v, error %v", text, got, err)
		}
		if back, err := got.MarshalText(); err != nil || string(back) != text {
			t.Errorf("%q is written as %q, error %v", text, back, err)
		}
	}
	got := node.Swap
	if err := got.UnmarshalText([]byte("Evict")); !errors.Is(err, node.ErrInvalid) || got != node.Swap {
		t.Errorf("an unknown text: %v, error %v", got, err)
	}
	if got := (node.Swap + 1).String(); got != "Overcommit(3)" {
		t.Errorf("an unknown value is %q", got)
	}
}
