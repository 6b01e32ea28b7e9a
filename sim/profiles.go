package sim

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Profiles configures how what workloads take is learnt: each node's agent reads its pods
// and sends windows to a profiler, whose profiles say what the next pod will take. A
// zero field takes its default.
type Profiles struct {
	// On has pods counted at what their workloads are known to take. The default is
	// off: every pod is a typical one.
	On bool
	// Config is that of a profile.
	Config profile.Config
	// First is a pod's age in seconds at its first reading; default 1. Others follow
	// at 2, 5 and 10 s and then every 10 s, and one when it has ended.
	First float64
	// Delay is the time in seconds from a window at the profiler to what follows of it
	// at the scheduler; default 2.
	Delay float64
	// Known, if above 0, has all pods of each workload known from the start, what they
	// take off by that factor: 1 is right.
	Known float64
	// Day is how many seconds of the run are a day to the profiler, from midnight on:
	// default one, 86,400.
	Day float64
	// Frozen has the profiler learn nothing in the run.
	Frozen bool
	// Usage takes what pods use of the CPU for what they would take, waiting or not.
	Usage bool
	// Scalar has a pod count for so many typical pods as its largest part is,
	// Snapshot for what was known when it was placed. AlwaysTrusted has the scheduler
	// believe a profile whatever pods are measured to take.
	Scalar, Snapshot, AlwaysTrusted bool
}

const (
	defaultFirst = 1
	defaultDelay = 2
	day          = 24 * time.Hour
)

// readingAges are those of the readings after the first, and readingPeriod is from one
// to the next after them, all in seconds.
var readingAges = []float64{2, 5, 10}

const readingPeriod = 10

// shortestDay bounds what runs take for a day.
const shortestDay = 60

// writePeriod is after how many seconds a profile is written whose demand is as it was.
const writePeriod = 600

func (p Profiles) withDefaults() Profiles {
	setDefault(&p.First, defaultFirst)
	setDefault(&p.Delay, defaultDelay)
	setDefault(&p.Day, day.Seconds())
	return p
}

// validate returns a *field.Error, or what the profiles' configuration is refused for.
func (p Profiles) validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"Profiles.First", p.First}, {"Profiles.Delay", p.Delay}, {"Profiles.Day", p.Day}, {"Profiles.Known", p.Known}} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return refuse(f.name, f.value, "a finite number ≥ 0")
		}
	}
	if p.Day > 0 && p.Day < shortestDay {
		return refuse("Profiles.Day", p.Day, "at least a minute, or 0 for the default")
	}
	if p.Frozen && p.Known == 0 {
		return refuse("Profiles.Frozen", p.Frozen, "something known")
	}
	return p.Config.Validate()
}

// pace is how much faster than the run time passes for the profiler.
func (p *Profiles) pace() float64 { return day.Seconds() / p.Day }

// time is what it is to the profiler at a time of the run.
func (p *Profiles) time(seconds float64) time.Time {
	if p.Day == day.Seconds() {
		return at(seconds)
	}
	return epoch.Truncate(day).Add(elapsed(seconds * p.pace()))
}

// after is a pod's age at the reading after one.
func (p *Profiles) after(age float64) float64 {
	for _, next := range readingAges {
		if next > age+1e-9 {
			return next
		}
	}
	return (math.Floor((age+1e-9)/readingPeriod) + 1) * readingPeriod
}

// profiler is what learns of workloads: the agents' part and the profiler's.
type profiler struct {
	c       *cluster
	options Profiles
	// workloads are by number, of is each pod's, −1 if it is unknown.
	workloads []learnt
	of        []int32
	logs      []usageLog // by node
	began     []float64  // when the pod ran, by pod
	due       []float64  // its next reading
	// read is called with each reading, published with what became known.
	read       func(m *machine, r agent.PodReading)
	published  func(workload int32, p estimate)
	deliveries []delivery // on their way
}

// learnt is what is known of a workload.
type learnt struct {
	profile *profile.Profile
	sent    estimate
	pods    []int32
}

// usageLog is a node's agent's.
type usageLog struct {
	*agent.UsageLog
	name  string
	flush float64 // when a batch is on its way next
}

// estimate is what a pod of a workload is expected to take, as of a time in seconds.
type estimate struct {
	profile.Demand
	at float64
}

// delivery is a estimate on its way.
type delivery struct {
	workload int32
	estimate
}

func newProfiler(c *cluster, options Profiles) (*profiler, error) {
	of, workloads := workloadsOf(c.pods)
	p := &profiler{
		c: c, options: options.withDefaults(), of: of, began: make([]float64, len(c.pods)), due: make([]float64, len(c.pods)),
		read: func(*machine, agent.PodReading) {}, published: func(int32, estimate) {},
	}
	for _, pods := range workloads {
		learns, err := profile.New(p.options.Config)
		if err != nil {
			return nil, err
		}
		p.workloads = append(p.workloads, learnt{profile: learns, pods: pods})
	}
	for i := range c.nodes {
		p.logs = append(p.logs, usageLog{UsageLog: agent.NewUsageLog(nodeName(i), 0), name: nodeName(i)})
	}
	return p, nil
}

// workloadsOf numbers the workloads in the order of their first pods. It returns each pod's, −1 for
// one of none and for servers that no scheduler places, and the pods of each.
func workloadsOf(pods []Pod) (of []int32, workloads [][]int32) {
	of = make([]int32, len(pods))
	numbers := map[string]int32{}
	for i := range pods {
		of[i] = -1
		name := pods[i].Workload
		if name == "" || pods[i].isServer() && pods[i].On > 0 {
			continue
		}
		n, known := numbers[name]
		if !known {
			n = int32(len(workloads))
			numbers[name] = n
			workloads = append(workloads, nil)
		}
		of[i] = n
		workloads[n] = append(workloads[n], int32(i))
	}
	return of, workloads
}

func nodeName(i int) string { return fmt.Sprintf("node-%06d", i) }

// start makes known what is from the start.
func (p *profiler) start() {
	if p.options.Known == 0 {
		return
	}
	for n := range p.workloads {
		w := &p.workloads[n]
		for i, pod := range w.pods {
			p.c.fail(w.profile.Observe(p.options.time(0), p.whole(i, &p.c.pods[pod])))
		}
		w.sent = estimate{p.demand(w), 0}
		p.published(int32(n), w.sent)
	}
}

// whole is the window of a pod's whole life, if nothing held it up, off by what is
// known wrongly.
func (p *profiler) whole(i int, pod *Pod) profile.Window {
	span, need := min(elapsed(pod.Solo()), time.Hour), pod.Need()
	if pod.isServer() {
		span = time.Hour
	}
	w := profile.Window{
		Pod: "before-" + strconv.Itoa(i), Node: nodeName(i),
		Usage: profile.Usage{
			Age: span, Span: span, Ended: true,
			CPU: p.options.Known * need.CPU * span.Seconds(), Pressure: true, Memory: p.options.Known * need.Memory,
		},
	}
	w.MemoryPeak = w.Memory
	return w
}

func (p *profiler) demand(w *learnt) profile.Demand {
	lives := time.Duration(0)
	if p.options.Day != day.Seconds() { // the profile's own would be too short
		lives = elapsed(p.options.pace() * w.profile.Lifetime(lifeQuantile).Seconds())
	}
	return w.profile.Demand(p.options.time(p.c.now), lives).Published()
}

// lifeQuantile is the quantile of lives that a pod is estimated for.
const lifeQuantile = .9

// phase has a pod read from the time that it runs until it has ended.
func (p *profiler) phase(m *machine, t node.Transition) {
	pod := int32(t.Pod)
	if p.of[pod] < 0 {
		return
	}
	switch t.Phase {
	case node.Running:
		if p.c.restarts[pod] > 0 {
			return // it is read on
		}
		p.began[pod] = t.At
		p.next(m, pod, t.At+p.options.First)
	case node.Succeeded, node.Failed, node.Evicted:
		p.due[pod] = math.Inf(1)
		r := agent.PodReading{Pod: p.c.key(pod), Age: elapsed(t.At - p.began[pod]), Ended: true}
		if t.Phase == node.Failed {
			r.OOMKills++
		}
		p.take(m, pod, r)
	}
}

func (p *profiler) next(m *machine, pod int32, due float64) {
	p.due[pod] = due
	p.c.agenda.add(event{at: due, kind: readout, node: m.index, pod: pod})
}

// readout reads a pod at its time, unless it has ended meanwhile.
func (p *profiler) readout(m *machine, pod int32) {
	if p.due[pod] != p.c.now {
		return
	}
	p.c.advance(m)
	if p.due[pod] != p.c.now {
		return
	}
	age := p.c.now - p.began[pod]
	p.take(m, pod, agent.PodReading{Pod: p.c.key(pod), Age: elapsed(age)})
	p.next(m, pod, p.began[pod]+p.options.after(age))
}

// take reads what the pod has taken into the node's log.
func (p *profiler) take(m *machine, pod int32, r agent.PodReading) {
	u, ok := m.model.Usage(node.PodID(pod))
	if !ok {
		p.c.fail(fmt.Errorf("no usage of pod %d", pod))
		return
	}
	r.OOMKills += uint64(p.c.restarts[pod])
	r.CPU, r.Memory, r.MemoryPeak = elapsed(u.CPU), uint64(u.Memory), uint64(u.Peak)
	if !p.options.Usage {
		r.Stalled, r.Pressure = elapsed(u.Stalled), true
	}
	p.read(m, r)
	if p.options.Frozen {
		return
	}
	log := &p.logs[m.index]
	log.Take(at(p.c.now), []agent.PodReading{r})
	if log.flush <= p.c.now {
		p.send(m)
	}
}

// send has the log's windows on their way, and again after the least time between two
// batches.
func (p *profiler) send(m *machine) {
	log := &p.logs[m.index]
	batch, ok := log.Batch(at(p.c.now))
	if !ok {
		return
	}
	log.flush = p.c.now + 1
	p.c.agenda.add(event{at: log.flush, kind: uploaded, node: m.index})
	log.Acknowledge(batch.Incarnation, batch.Sequence)
	for i := range batch.Windows {
		p.observe(log.name, &batch.Windows[i])
	}
}

// observe is the profiler's part.
func (p *profiler) observe(on string, from *agent.Window) {
	pod := podOf(from.Pod)
	n := p.of[pod]
	w := &p.workloads[n]
	p.c.fail(w.profile.Observe(p.options.time(p.c.now), profile.Window{
		Pod: strconv.FormatUint(uint64(from.Pod), 16), Node: on, Revision: p.c.pods[pod].Revision, Usage: from.Usage,
	}))
	if d := p.demand(w); d != w.sent.Demand || p.c.now-w.sent.at >= writePeriod {
		w.sent = estimate{d, p.c.now}
		p.deliveries = append(p.deliveries, delivery{n, w.sent})
		p.c.agenda.add(event{at: p.c.now + p.c.Latency + p.options.Delay, kind: estimated, pod: int32(len(p.deliveries) - 1)})
	}
}

// handle reports whether the event was the profiler's.
func (p *profiler) handle(e event) bool {
	switch e.kind {
	case readout:
		p.readout(p.c.nodes[e.node], e.pod)
	case uploaded:
		p.send(p.c.nodes[e.node])
	case estimated:
		d := p.deliveries[e.pod]
		p.published(d.workload, d.estimate)
	default:
		return false
	}
	return true
}

// key is a pod's in one of its lives; one that is made anew comes back as another.
func (s *cluster) key(pod int32) reserve.PodKey {
	return reserve.PodKey(uint64(pod)<<16 | uint64(s.lives[pod]))
}

// podOf is the pod of a key.
func podOf(key reserve.PodKey) int32 { return int32(key >> 16) }
