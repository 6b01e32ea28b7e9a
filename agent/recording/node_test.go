package recording_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func config() agent.Config {
	return agent.Config{
		Node: "n1", Incarnation: 1<<63 + 7, Schema: "test/v1", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: "memory", Size: 16e9}},
	}
}

// node is a simulated node with a recording agent: pods with a startup spike that come and go, a base
// load, and an occasional fleet model.
type node struct {
	t               testing.TB
	rng             *rand.Rand
	powerRand       *rand.Rand // separate, so that the rest of a day stays the same without power
	placeholderRand *rand.Rand // separate for the same reason
	pipeline        *agent.Pipeline
	recorder        *recording.Recorder
	at              time.Time
	pods            []agent.Pod
	bound           []reserve.PodKey // not yet running
	sizes           []float64
	first           []float64 // sizes
	spike           int
	invalid         bool // with inputs that the pipeline refuses
	y               []float64
	fleet           agent.Fleet
	reports         int
	visit           func(agent.Report)
}

func newNode(t testing.TB, seed uint64, c agent.Config, dir string, o recording.Options) *node {
	t.Helper()
	p, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	o.State = p.State
	r, err := recording.Create(dir, c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	n := &node{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), powerRand: rand.New(rand.NewPCG(seed, 2)),
		placeholderRand: rand.New(rand.NewPCG(seed, 3)), pipeline: p, recorder: r, at: start,
		y: make([]float64, len(c.Channels)), visit: func(agent.Report) {},
	}
	for _, ch := range c.Channels {
		n.sizes, n.first = append(n.sizes, ch.Size), append(n.first, ch.Size)
	}
	n.fleet = agent.Fleet{Schema: c.Schema, Costs: make([]agent.Cost, len(c.Channels)), Nodes: 9}
	n.fleet.Costs[0] = agent.Cost{Value: .6, SD: .05, Known: true}
	block := make([][]float64, 10)
	for i := range block {
		block[i] = make([]float64, len(c.Channels))
		for j := range block[i] {
			block[i][j] = n.rng.Float64()
		}
	}
	if c.Pronto != nil {
		n.fleet.Schema += agent.ProntoSchema
	}
	if n.fleet.Model, err = svd.Update(svd.Model{}, block, svd.Options{Centre: c.Pronto != nil}); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) report(r agent.Report, ok bool, err error) {
	if err == nil && ok {
		n.recorder.Report(r)
		n.reports++
		n.visit(r)
	}
}

// tick advances a tenth of a second; event scales the number of events.
func (n *node) tick(event float64) {
	if n.rng.Float64() < event {
		n.recorder.Churn(n.at)
		n.pipeline.Churn(n.at)
		n.change()
	}
	if n.rng.Float64() < event {
		b := agent.Bind{Pod: reserve.PodKey(n.rng.Uint64()), Inits: n.rng.IntN(4) - 1, InitsKnown: n.rng.IntN(2) == 0}
		if n.rng.IntN(2) == 0 {
			b.Demand.CPU = profile.Share{Amount: n.rng.Float64(), SD: n.rng.Float64(), Confidence: n.rng.Float64()}
			b.Demand.Memory = profile.Share{Amount: 1e9 * n.rng.Float64(), Confidence: n.rng.Float64()}
		}
		n.recorder.Bound(n.at, b)
		n.pipeline.Bound(n.at, b)
		n.bound = append(n.bound, b.Pod)
	}
	if n.rng.Float64() < event {
		n.usage()
	}
	if n.powerRand.Float64() < event {
		n.power()
	}
	if n.placeholderRand.Float64() < event/4 {
		n.placeholders()
	}
	if n.rng.Float64() < event/20 {
		n.resize()
	}
	if n.rng.Float64() < event/4 {
		n.recorder.Fleet(n.at, n.fleet)
		if err := n.pipeline.SetFleet(n.at, n.fleet); err != nil {
			n.t.Fatal(err)
		}
	}
	if n.invalid && n.rng.Float64() < event {
		n.refused()
	}
	n.at = n.at.Add(100*time.Millisecond + time.Duration(n.rng.IntN(2000))*time.Microsecond)
	if n.rng.Float64() < event/4 {
		n.recorder.Dropped(n.at, errors.New("a counter ran backwards"))
		return
	}
	for i := range n.y {
		y := .05 + .15*float64(len(n.pods))/float64(i+1) + .02*n.rng.NormFloat64()
		if n.spike > 0 {
			y += .4
		}
		n.y[i] = min(max(y, 0), 1)
	}
	n.spike = max(n.spike-1, 0)
	n.recorder.Sample(n.at, n.y)
	n.report(n.pipeline.Sample(n.at, n.y))
}

// usage reads the pods, and a container without a pod, which is ignored.
func (n *node) usage() {
	readings := []agent.PodReading{{Pod: 1, Container: 2, Age: time.Hour}}
	for _, p := range n.pods {
		readings = append(readings, agent.PodReading{
			Pod: p.Key, Age: time.Duration(n.rng.Int64N(1e11)) - 1e9, AgeUnknown: n.rng.IntN(9) == 0, Ended: n.rng.IntN(9) == 0,
			CPU: time.Duration(n.rng.Int64N(1e11)), Stalled: time.Duration(n.rng.Int64N(1e10)), Pressure: n.rng.IntN(2) == 0,
			Memory: n.rng.Uint64N(1 << 31), MemoryPeak: n.rng.Uint64N(1 << 32),
		})
	}
	n.recorder.Usage(n.at, readings)
	n.pipeline.Usage(n.at, readings)
}

// placeholders names some of the present and future pods as placeholders.
func (n *node) placeholders() {
	keys := []reserve.PodKey{reserve.PodKey(n.placeholderRand.Uint64())}
	for _, p := range n.pods {
		if n.placeholderRand.IntN(4) == 0 {
			keys = append(keys, p.Key)
		}
	}
	for _, key := range n.bound[max(len(n.bound)-4, 0):] {
		if n.placeholderRand.IntN(4) == 0 {
			keys = append(keys, key)
		}
	}
	n.recorder.Placeholders(n.at, keys)
	n.report(n.pipeline.Placeholders(n.at, keys))
}

// power measures the node, or its pods and one that is not on the node.
func (n *node) power() {
	if n.powerRand.IntN(3) == 0 {
		pods := []agent.PodPower{{Pod: 1, Cores: n.powerRand.Float32() + 1}}
		for _, p := range n.pods {
			if n.powerRand.IntN(4) > 0 {
				pods = append(pods, agent.PodPower{Pod: p.Key, Cores: n.powerRand.Float32() + agent.LeastCores, Watts: 20 * n.powerRand.Float32()})
			}
		}
		n.recorder.PodPower(n.at, pods)
		if err := n.pipeline.PodPower(n.at, pods); err != nil {
			n.t.Fatal(err)
		}
		return
	}
	p := energy.Power{
		Quality: energy.Quality(n.powerRand.IntN(6)), Watts: 100 * n.powerRand.Float64(), SD: n.powerRand.Float64(), Max: 120, Idle: 40, Marginal: 20 + n.powerRand.Float64(),
		Busy: 4 * n.powerRand.Float64(), Cores: 4, Joules: 1e9 * n.powerRand.Float64(), Flags: energy.Flags(n.powerRand.Uint32()),
	}
	n.recorder.Power(n.at, p)
	if err := n.pipeline.Power(n.at, p); err != nil {
		n.t.Fatal(err)
	}
}

// refused passes inputs that a pipeline rejects or ignores.
func (n *node) refused() {
	var (
		nan     = []float64{math.NaN(), 2}
		foreign = agent.Fleet{Schema: "other"}
		silent  = agent.Fleet{Schema: n.fleet.Schema}
	)
	n.recorder.Sample(n.at.Add(time.Millisecond), nan)
	n.report(n.pipeline.Sample(n.at.Add(time.Millisecond), nan))
	n.recorder.Sample(n.at, n.y) // the time has not advanced
	n.report(n.pipeline.Sample(n.at, n.y))
	for _, f := range []agent.Fleet{foreign, silent} {
		n.recorder.Fleet(n.at, f)
		if err := n.pipeline.SetFleet(n.at, f); (err != nil) != (f.Schema == "other") {
			n.t.Fatal(err)
		}
	}
	hot := energy.Power{Quality: energy.Measured, Watts: math.NaN()}
	n.recorder.Power(n.at, hot)
	twins := []agent.PodPower{{Pod: 1, Cores: 1}, {Pod: 1, Cores: 1}}
	n.recorder.PodPower(n.at, twins)
	if n.pipeline.Power(n.at, hot) == nil || n.pipeline.PodPower(n.at, twins) == nil {
		n.t.Fatal("an invalid power was accepted")
	}
	twice := append(n.pods, n.pods...)
	n.recorder.Pods(n.at, twice)
	n.report(n.pipeline.Pods(n.at, twice))
	none := []float64{0}
	n.recorder.Sizes(n.at, none)
	if n.pipeline.Resize(none) == nil {
		n.t.Fatal("a size of 0 was accepted")
	}
}

// resize adds or removes cores or memory.
func (n *node) resize() {
	i := n.rng.IntN(len(n.sizes))
	n.sizes[i] = n.first[i] * []float64{.5, 1, 1.001, 2}[n.rng.IntN(4)]
	n.recorder.Sizes(n.at, n.sizes)
	if err := n.pipeline.Resize(n.sizes); err != nil {
		n.t.Fatal(err)
	}
}

// change starts one to three pods, ends one, or advances one.
func (n *node) change() {
	switch choice := n.rng.IntN(3); {
	case choice == 0 && len(n.pods) > 0:
		i := n.rng.IntN(len(n.pods))
		n.pods[i] = n.pods[len(n.pods)-1]
		n.pods = n.pods[:len(n.pods)-1]
	case choice == 1 && len(n.pods) > 0:
		p := &n.pods[n.rng.IntN(len(n.pods))]
		if p.State = agent.PodState(n.rng.IntN(3)); p.State == agent.PodRunning && p.Starts < unknown {
			p.Starts++
		}
	case len(n.pods) < 6:
		for range 1 + n.rng.IntN(3) {
			n.pods = append(n.pods, n.nextPod())
		}
		n.spike = 3
	}
	n.recorder.Pods(n.at, n.pods)
	n.report(n.pipeline.Pods(n.at, n.pods))
}

// unknown is the number of starts of a pod older than its source, as telemetry.StartsUnknown.
const unknown = math.MaxInt

// nextPod returns a bound pod, or one without a notice.
func (n *node) nextPod() agent.Pod {
	pod := agent.Pod{State: agent.PodState(n.rng.IntN(3)), Starts: []int{0, 1, unknown}[n.rng.IntN(3)]}
	if len(n.bound) == 0 {
		pod.Key = reserve.PodKey(n.rng.Uint64())
		return pod
	}
	pod.Key = n.bound[0]
	n.bound = n.bound[1:]
	return pod
}

func (n *node) ticks(count int, event float64) {
	for range count {
		n.tick(event)
	}
}

func (n *node) close() {
	n.t.Helper()
	if err := n.recorder.Close(); err != nil {
		n.t.Fatal(err)
	}
}

// outcome is the result of a replay.
type outcome struct {
	pairs, different int
	first            string
	torn             []*recording.TornError
}

// replay replays the recording at path and fails on any error except a torn end.
func replay(t testing.TB, path string, override func(*agent.Config)) outcome {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return compare(t, r, override)
}

func compare(t testing.TB, r *recording.Reader, override func(*agent.Config)) (o outcome) {
	t.Helper()
	for pair, err := range recording.Replay(r, override) {
		var torn *recording.TornError
		if errors.As(err, &torn) {
			o.torn = append(o.torn, torn)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		o.pairs++
		if !pair.Identical() {
			if o.different++; o.different == 1 && pair.Recorded != nil && pair.Replayed != nil {
				o.first, _ = recording.Difference(*pair.Recorded, *pair.Replayed)
			}
		}
	}
	return o
}
