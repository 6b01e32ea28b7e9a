package agent_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func config() agent.Config {
	return agent.Config{
		Node: "n1", Incarnation: 7, Schema: "test/v1", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: agent.Memory, Size: 16e9}},
	}
}

// node drives a pipeline at 10 Hz and keeps its reports.
type node struct {
	t       *testing.T
	p       *agent.Pipeline
	at      time.Time
	reports []agent.Report
	podsNow []reserve.PodKey
	visit   func(agent.Report) // may be nil
}

func newNode(t *testing.T, c agent.Config) *node {
	t.Helper()
	p, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &node{t: t, p: p, at: start}
}

func (n *node) keep(r agent.Report, ok bool, err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
	if ok {
		n.reports = append(n.reports, r)
		if n.visit != nil {
			n.visit(r)
		}
	}
}

func (n *node) samples(count int, y ...float64) {
	n.t.Helper()
	for range count {
		n.at = n.at.Add(100 * time.Millisecond)
		n.keep(n.p.Sample(n.at, y))
	}
}

func (n *node) pods(count int) {
	n.t.Helper()
	keys := seq(count)
	for _, k := range keys[min(len(n.podsNow), count):] {
		n.bound(k)
	}
	n.podsNow = keys
	n.list(keys...)
}

// seq are the keys 1 to count.
func seq(count int) []reserve.PodKey {
	keys := make([]reserve.PodKey, count)
	for i := range keys {
		keys[i] = reserve.PodKey(i + 1)
	}
	return keys
}

// list reports running pods to the node, without a notice.
func (n *node) list(keys ...reserve.PodKey) {
	n.t.Helper()
	n.keep(n.p.Pods(n.at, agent.RunningPods(keys...)))
}

// bound sends the scheduler's notice of a pod without init containers.
func (n *node) bound(k reserve.PodKey) { n.p.Bound(n.at, agent.Bind{Pod: k, InitsKnown: true}) }

// restarted returns the node as a restarted agent builds it from its stored state.
func (n *node) restarted() (*node, agent.State) {
	n.t.Helper()
	text, err := json.Marshal(n.p.State())
	if err != nil {
		n.t.Fatal(err)
	}
	var s agent.State
	if err := json.Unmarshal(text, &s); err != nil {
		n.t.Fatal(err)
	}
	p, err := agent.FromState(n.p.Config(), s)
	if err != nil {
		n.t.Fatal(err)
	}
	return &node{t: n.t, p: p, at: n.at, podsNow: n.podsNow}, s
}

func (n *node) last() agent.Report {
	n.t.Helper()
	if len(n.reports) == 0 {
		n.t.Fatal("no report")
	}
	return n.reports[len(n.reports)-1]
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func TestColdStart(t *testing.T) {
	n := newNode(t, config())
	n.samples(1, .25, .1)
	r := n.last()
	want := agent.Report{
		Node: "n1", Incarnation: 7, Sequence: 1, SampledAt: n.at, Schema: "test/v1",
		Avail: 3, K: 100, Limiting: "cpu",
		Channels: []agent.ChannelReport{
			{Name: "cpu", Usage: .25, Capacity: .75, Cost: .25, Room: .75, Unit: 1. / 8, Most: .75},
			{Name: "memory", Usage: .1, Capacity: .9, Cost: .125, Room: .9, Unit: 1 / 16e9, PodSD: .125, Most: .9},
		},
		Flags: agent.Flags{CostUnknown: true, WarmingUp: true},
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Errorf("first report (-want +got):\n%s", d)
	}
	n.samples(9, .25, .1)
	if r := n.last(); r.Sequence != 2 || r.Flags.WarmingUp {
		t.Errorf("after a block: %+v", r)
	}
}

func TestReportsOncePerBlock(t *testing.T) {
	n := newNode(t, config())
	n.samples(100, .3, .1)
	if len(n.reports) != 11 {
		t.Errorf("got %d reports in ten seconds without changes, want the first and one per second", len(n.reports))
	}
	for i, r := range n.reports {
		if r.Sequence != uint64(i+1) {
			t.Errorf("report %d: got sequence %d", i, r.Sequence)
		}
	}
}

func TestPodEventReportsAtOnce(t *testing.T) {
	n := newNode(t, config())
	n.samples(15, .25, .1)
	before, avail := len(n.reports), n.last().Avail
	n.at = n.at.Add(60 * time.Millisecond)
	n.pods(1)
	if len(n.reports) != before+1 {
		t.Fatalf("no report on a pod event")
	}
	r := n.last()
	if len(r.Pods) != 1 || !near(r.Avail, avail-1, 1e-9) {
		t.Errorf("avail %v with %d pods after %v with none: a pod that the usage does not show yet must count", r.Avail, len(r.Pods), avail)
	}
	n.at = n.at.Add(10 * time.Millisecond)
	n.pods(2)
	n.pods(3)
	if len(n.reports) != before+1 {
		t.Errorf("events within the least interval were reported one by one")
	}
	n.samples(1, .25, .1)
	if got := len(n.last().Pods); got != 3 {
		t.Errorf("the next sample reports %d pods, want 3", got)
	}
	n.samples(1, .25, .1)
	n.pods(3)
	if got := n.last().Sequence; int(got) != before+2 {
		t.Errorf("an unchanged pod set was reported")
	}
}

func TestRiseReportsAtOnce(t *testing.T) {
	n := newNode(t, config())
	n.pods(4)
	n.samples(40, 1, .1)
	if r := n.last(); !r.Saturated || r.Avail > 0 || r.Allowance != 0 {
		t.Fatalf("full node: %+v", r)
	}
	n.samples(1, .2, .1)
	for i := 1; n.last().Avail <= 0; i++ {
		if i > 7 {
			t.Fatalf("the freed node still reports %v after %d samples", n.last().Avail, i)
		}
		n.samples(1, .2, .1)
	}
}

// run drives a node whose pods take cost each, beside a base load.
func (n *node) run(rng *rand.Rand, seconds int, base, cost float64) {
	n.t.Helper()
	pods := 0
	for range seconds * 10 {
		if rng.Float64() < .02 {
			pods = min(max(pods+2*rng.IntN(2)-1, 0), 4)
			n.p.Churn(n.at)
			n.pods(pods)
		}
		y := base + cost*float64(pods) + .02*rng.NormFloat64()
		n.samples(1, min(max(y, 0), 1), .1)
	}
}

func TestLearnsCostAndRoom(t *testing.T) {
	n := newNode(t, config())
	rng := rand.New(rand.NewPCG(1, 1))
	n.run(rng, 600, .05, .15)
	r := n.last()
	cpu := r.Channels[0]
	if r.Flags.CostUnknown || !near(cpu.Cost, .15, .02) || !near(cpu.Capacity, .95, .05) {
		t.Errorf("after ten minutes: %+v, flags %+v; want c = .15, C = .95", cpu, r.Flags)
	}
	n.pods(0)
	n.samples(30, .05, .1)
	if got := n.last().Avail; got < 4.5 || got > 6.5 {
		t.Errorf("empty node: got room for %v pods of .15, want between 4.5 and 6.5", got)
	}
}

func TestDeterministic(t *testing.T) {
	var runs [2][]agent.Report
	for i := range runs {
		n := newNode(t, config())
		n.run(rand.New(rand.NewPCG(2, 2)), 60, .1, .2)
		runs[i] = n.reports
	}
	if d := cmp.Diff(runs[0], runs[1]); d != "" {
		t.Errorf("two runs of the same input differ:\n%s", d)
	}
}

func TestPauseOnChurn(t *testing.T) {
	c := config()
	c.PauseOnChurn = true
	n := newNode(t, c)
	n.samples(100, .3, .1)
	before := n.last().Channels[0]
	for range 5 {
		n.p.Churn(n.at)
		n.samples(9, .9, .1)
	}
	r := n.last()
	if !r.Flags.Churn {
		t.Error("no churn flag")
	}
	if r.Channels[0].Capacity != before.Capacity || r.Channels[0].Cost != before.Cost {
		t.Errorf("estimates moved during churn: %+v, before %+v", r.Channels[0], before)
	}
	if r.Avail > .5 {
		t.Errorf("avail %v during churn on a node at .9: the signal must cap the model", r.Avail)
	}
	n.samples(20, .3, .1)
	if n.last().Flags.Churn {
		t.Error("churn flag two seconds after the last event")
	}
	for range 150 {
		n.p.Churn(n.at)
		n.samples(1, .3, .1)
	}
	if n.last().Flags.Churn {
		t.Error("a window of 15 s of events must have ended at its cap")
	}
}

// TestPodsWithoutNotice: of pods without a notice, one may be in its init containers at any time. The
// estimator waits for it, but not for ever.
func TestPodsWithoutNotice(t *testing.T) {
	n := newNode(t, config())
	n.samples(100, .05, .1)
	for count := range 8 {
		n.list(seq(count + 1)...)
		n.samples(70, .05+.1*float64(count+1), .1)
	}
	if s := n.p.State().Estimator[0]; s.CostVar >= .25*.25/4 || s.MeanPods == 0 {
		t.Errorf("nothing learned from eight pods: %+v", s)
	}
}

// TestChurnIsNoise: samples taken while pods come and go move the estimate, but much less than samples
// of stable pods.
func TestChurnIsNoise(t *testing.T) {
	level := func(churn bool) float64 {
		n := newNode(t, config())
		n.samples(100, .3, .1)
		for range 6 {
			n.samples(5, .4, .1)
			if churn {
				n.p.Churn(n.at)
			}
			n.samples(5, .4, .1)
		}
		return n.p.State().Estimator[0].Level
	}
	still, churned := level(false), level(true)
	if math.Abs(still-.6) > .01 {
		t.Errorf("stable pods: got estimate %.4f, want .6", still)
	}
	if !(churned < .6999 && churned > .65) {
		t.Errorf("churn, headroom .6 after .7: got estimate %.4f", churned)
	}
}

func fleet(t *testing.T, samples [][]float64, costs ...agent.Cost) agent.Fleet {
	t.Helper()
	m, err := svd.Update(svd.Model{}, samples, svd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return agent.Fleet{Schema: "test/v1", Model: m, Costs: costs, Nodes: 9}
}

// TestFleetLoadMovesSignal reproduces figures 4.7 and 4.8 of the thesis: CPU-heavy load elsewhere
// lowers the signal of a CPU-loaded node and raises that of a memory-loaded one.
func TestFleetLoadMovesSignal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		y     []float64
		rises bool
	}{
		{"cpu-loaded node falls", []float64{.25, .05}, false},
		{"memory-loaded node rises", []float64{.05, .6}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, config())
			n.samples(50, tt.y...)
			before := n.last().K
			heavy := make([][]float64, 10)
			for i := range heavy {
				heavy[i] = []float64{.6, .05}
			}
			if tt.rises {
				for i := range heavy {
					heavy[i] = []float64{.3, .02}
				}
			}
			if err := n.p.SetFleet(n.at, fleet(t, heavy)); err != nil {
				t.Fatal(err)
			}
			n.samples(10, tt.y...)
			if after := n.last().K; (after > before) != tt.rises {
				t.Errorf("k went from %v to %v", before, after)
			}
		})
	}
}

func TestFleetCosts(t *testing.T) {
	n := newNode(t, config())
	n.samples(10, .1, .1)
	f := fleet(t, [][]float64{{.1, .1}}, agent.Cost{Value: 2, SD: 0, Known: true}, agent.Cost{})
	if err := n.p.SetFleet(n.at, f); err != nil {
		t.Fatal(err)
	}
	n.samples(10, .1, .1)
	if got := n.last(); !near(got.Channels[0].Cost, .5, 1e-12) || !near(got.Avail, 1.8, 1e-9) {
		t.Errorf("fresh node: got cost %v, avail %v; want the fleet's 2 cores = .5 of the node", got.Channels[0].Cost, got.Avail)
	}
	l, ok := n.p.Local()
	if !ok || l.Costs[0].Known || l.Costs[0].Value != 1 {
		t.Errorf("local costs %+v must not echo the fleet's", l.Costs)
	}
	for name, bad := range map[string]agent.Fleet{
		"other schema":  {Schema: "other"},
		"other shape":   fleet(t, [][]float64{{.1, .1, .1}}),
		"missing costs": {Schema: "test/v1", Costs: []agent.Cost{{Value: 1, Known: true}}},
		"negative cost": {Schema: "test/v1", Costs: []agent.Cost{{Value: -1, Known: true}, {}}},
		"NaN spread":    {Schema: "test/v1", Costs: []agent.Cost{{Value: 1, SD: math.NaN(), Known: true}, {}}},
	} {
		var fe *field.Error
		if err := n.p.SetFleet(n.at, bad); !errors.As(err, &fe) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	n.samples(10, .1, .1)
	if got := n.last(); !near(got.Channels[0].Cost, .5, 1e-12) {
		t.Errorf("a refused fleet changed the cost to %v", got.Channels[0].Cost)
	}
}

func TestBadSampleChangesNothing(t *testing.T) {
	good, bad := newNode(t, config()), newNode(t, config())
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range 300 {
		y := []float64{rng.Float64(), rng.Float64()}
		good.samples(1, y...)
		bad.samples(1, y...)
		for _, s := range [][]float64{{math.NaN(), 0}, {0, math.Inf(1)}, {-.1, 0}, {0, 1.1}, {0}, nil} {
			var fe *field.Error
			if _, _, err := bad.p.Sample(bad.at.Add(time.Millisecond), s); !errors.As(err, &fe) {
				t.Fatalf("sample %v: error %v", s, err)
			}
		}
		if _, _, err := bad.p.Sample(bad.at, y); err == nil {
			t.Fatalf("step %d: a sample at the time of the last was accepted", i)
		}
	}
	if d := cmp.Diff(good.reports, bad.reports); d != "" {
		t.Errorf("rejected samples changed the state:\n%s", d)
	}
}

func TestConfigValidate(t *testing.T) {
	for which, edit := range map[string]func(*agent.Config){
		"Node":                func(c *agent.Config) { c.Node = "" },
		"Schema":              func(c *agent.Config) { c.Schema = "" },
		"Channels":            func(c *agent.Config) { c.Channels = nil },
		"Channels[1].Name":    func(c *agent.Config) { c.Channels[1].Name = "" },
		"Channels[1].Size":    func(c *agent.Config) { c.Channels[1].Size = math.NaN() },
		"Channels[0].Reserve": func(c *agent.Config) { c.Channels[0].Reserve = 1 },
		"Cores":               func(c *agent.Config) { c.Cores = 0 },
		"PodsPerCore":         func(c *agent.Config) { c.PodsPerCore = -1 },
		"Model.Block":         func(c *agent.Config) { c.Model.Block = agent.MaxBlock + 1 },
		"Model.Centre":        func(c *agent.Config) { c.Model.Centre = true },
		"FleetShare":          func(c *agent.Config) { c.FleetShare = -.1 },
		"MaxAge":              func(c *agent.Config) { c.MaxAge = -1 },
		"InitLead":            func(c *agent.Config) { c.InitLead = -1 },
		"MinInterval":         func(c *agent.Config) { c.MinInterval = -1 },
		"Channels[0].Prior":   func(c *agent.Config) { c.Channels[0].Prior = -1 },
		"MemorySpread":        func(c *agent.Config) { c.MemorySpread = 11 },
		"FleetSpread":         func(c *agent.Config) { c.FleetSpread = -1 },
		"ChurnHold":           func(c *agent.Config) { c.ChurnHold = -1 },
	} {
		c := config()
		edit(&c)
		var fe *field.Error
		if _, err := agent.New(c); !errors.As(err, &fe) || fe.Field != which || !errors.Is(err, agent.ErrInvalid) {
			t.Errorf("%s: error %v", which, err)
		}
	}
	for name, edit := range map[string]func(*agent.Config){
		"filter":    func(c *agent.Config) { c.Filter.N = -1 },
		"spread":    func(c *agent.Config) { c.Estimator.Spread = -1 },
		"caution":   func(c *agent.Config) { c.Avail.Caution = -2 },
		"allowance": func(c *agent.Config) { c.Allowance.MostPerSlot = -2 },
	} {
		c := config()
		edit(&c)
		if _, err := agent.New(c); err == nil {
			t.Errorf("a bad %s was accepted", name)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	b.Run("d=2", func(b *testing.B) {
		p, err := agent.New(config())
		if err != nil {
			b.Fatal(err)
		}
		y := []float64{.4, .2}
		at := start
		b.ReportAllocs()
		for b.Loop() {
			at = at.Add(100 * time.Millisecond)
			if _, _, err := p.Sample(at, y); err != nil {
				b.Fatal(err)
			}
		}
	})
}
