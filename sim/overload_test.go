package sim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// overloaded is a node with its agent, and a scheduler of only that node.
type overloaded struct {
	t       *testing.T
	model   *node.Model
	agent   *agent.Pipeline
	ledger  reserve.Ledger
	account *reserve.Account
	signal  reserve.Signal
	report  agent.Report
	pods    []agent.Pod
	rng     *rand.Rand
	now     float64
	next    node.PodID
	running int
	most    int
	// work is the core-seconds of a pod.
	work float64
}

func newOverloaded(t *testing.T, p node.Params) *overloaded {
	t.Helper()
	model, err := node.New(p)
	if err != nil {
		t.Fatal(err)
	}
	o := &overloaded{t: t, model: model, rng: rand.New(rand.NewPCG(p.Seed, 5)), work: 4}
	o.agent, err = agent.New(agent.Config{
		Node: "n", Schema: "s", Cores: float64(p.Cores),
		Channels: []agent.Channel{{Name: agent.CPU, Size: float64(p.Cores)}, {Name: agent.Memory, Size: model.Params().Memory}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.account = o.ledger.Account("n")
	o.reported(o.agent.Pods(o.at(0), nil))
	return o
}

func (o *overloaded) at(seconds float64) time.Time {
	return time.Unix(1_000_000_000, 0).Add(time.Duration(math.Round(seconds * 1e9)))
}

// step advances by a sample.
func (o *overloaded) step() {
	o.now += .1
	for _, e := range o.model.AdvanceTo(nil, o.now) {
		key := reserve.PodKey(e.Pod)
		switch e.Phase {
		case node.Running:
			o.pods = append(o.pods, agent.RunningPods(key)...)
			o.running++
			o.most = max(o.most, o.running)
		case node.Succeeded:
			o.pods = slices.DeleteFunc(o.pods, func(p agent.Pod) bool { return p.Key == key })
			o.running--
			o.ledger.Progress(key, reserve.Ended)
			o.ledger.Delete(key, o.at(e.At))
		}
		o.agent.Churn(o.at(e.At))
		o.reported(o.agent.Pods(o.at(e.At), o.pods))
	}
	r, ok := o.model.Read()
	if !ok {
		o.t.Fatal("no reading")
	}
	y := []float64{r.CPU(), r.Memory}
	o.reported(o.agent.Sample(o.at(o.now), y))
}

func (o *overloaded) reported(r agent.Report, due bool, err error) {
	if err != nil {
		o.t.Fatal(err)
	}
	if !due {
		return
	}
	o.report = r
	o.ledger.Confirm("n", 1, r.Pods, o.at(o.now))
	o.signal = reserve.Signal{Avail: r.Avail, Allowance: r.Allowance, Pods: len(r.Pods), K: r.K, Saturated: r.Saturated}
}

func (o *overloaded) bind() reserve.PodKey {
	o.next++
	p := node.Pod{ID: o.next, Work: o.work, Startup: node.StartupLatency(o.rng)}
	if err := o.model.Bind(o.now, p); err != nil {
		o.t.Fatal(err)
	}
	return reserve.PodKey(p.ID)
}

// flood runs that many pods of one core that were never requested from the agent, and waits until
// they are gone.
func (o *overloaded) flood(pods int) {
	for range pods {
		o.bind()
	}
	for o.step(); o.running > 0 || o.now < 1; o.step() {
	}
	for range 30 {
		o.step()
	}
}

// batch runs as many pods as the agent has room for, and returns the most at the same time.
func (o *overloaded) batch(pods int) int {
	o.most = 0
	for waiting := pods; waiting > 0 || o.running > 0; o.step() {
		for waiting > 0 && reserve.Fits(o.account.Cap(o.signal, o.at(o.now)), o.account.Flight(), reserve.TypicalPod(), reserve.Rules{}.WithDefaults()) == reserve.Admitted {
			key := o.bind()
			if err := o.ledger.Reserve("n", key, reserve.TypicalPod(), o.at(o.now)); err != nil {
				o.t.Fatal(err)
			}
			o.ledger.MarkBound(key)
			o.agent.Bound(o.at(o.now), agent.Bind{Pod: key, InitsKnown: true})
			waiting--
		}
		if o.now > 1e5 {
			o.t.Fatalf("%d pods wait for ever", waiting)
		}
	}
	return o.most
}

// Floods of pods that others bound leave a cost that is right or uncertain, and the batch after
// them has hardly more concurrent pods than cores.
func TestFloodsDoNotCheapenPods(t *testing.T) {
	sizes := []int{2, 4, 16, 64}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, cores := range sizes {
		for _, steal := range []float64{0, .02, .05, .2} {
			for seed := range uint64(2) {
				t.Run(fmt.Sprintf("cores=%d/steal=%g/seed=%d", cores, steal, seed), func(t *testing.T) {
					o := newOverloaded(t, node.Params{Cores: cores, Steal: steal, Seed: seed})
					for range 3 {
						o.flood(8 * cores)
					}
					truth, cpu := 1/float64(2*cores), o.report.Channels[0]
					if !o.report.Flags.CostUnknown && math.Abs(cpu.Cost/truth-1) > .25 {
						t.Errorf("a pod is taken to cost %.4f, which is %.4f", cpu.Cost, truth)
					}
					if got, most := o.batch(8*cores), cores+3; got > most {
						t.Errorf("%d pods at once, want at most %d", got, most)
					} else {
						t.Logf("%d pods at once", got)
					}
				})
			}
		}
	}
}

// drizzle starts a pod each second, with notice to the node, and waits until they are gone.
func (o *overloaded) drizzle(pods int) {
	for next := o.now; pods > 0 || o.running > 0; o.step() {
		if pods > 0 && o.now >= next {
			key := o.bind()
			o.agent.Bound(o.at(o.now), agent.Bind{Pod: key, InitsKnown: true})
			pods--
			next++
		}
	}
}

// With pods that live for seconds, one always comes or goes: after twenty of them the node knows
// their cost, whether it was idle or overloaded before. Starting and stopping them costs a tenth of
// that.
func TestChurnTeaches(t *testing.T) {
	for _, tt := range []struct {
		cores int
		work  float64
	}{{2, 4}, {4, 4}, {16, 4}, {16, 10}} {
		for _, flooded := range []bool{false, true} {
			for seed := range uint64(4) {
				t.Run(fmt.Sprintf("cores=%d/work=%g/flooded=%v/seed=%d", tt.cores, tt.work, flooded, seed), func(t *testing.T) {
					o := newOverloaded(t, node.Params{Cores: tt.cores, Seed: seed})
					if flooded {
						o.flood(8 * tt.cores)
					}
					o.work = tt.work
					for range 50 {
						o.step()
					}
					if tt.cores < 16 {
						o.batch(20)
					} else {
						o.drizzle(20)
					}
					truth, cpu := 1/float64(2*tt.cores), o.report.Channels[0]
					if cpu.CostSD == 0 || math.Abs(cpu.Cost/truth-1) > .25 {
						t.Errorf("a pod is taken to cost %.4f ± %.4f, which is %.4f", cpu.Cost, cpu.CostSD, truth)
					}
				})
			}
		}
	}
}
