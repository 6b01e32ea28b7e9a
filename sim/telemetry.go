package sim

import (
	"math"
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// The telemetry of Trimaran's plugins, in seconds: load-watcher asks Prometheus for the
// mean and the standard deviation over a window. The sum of watcherPoll, load-watcher's
// interval, and watcherRefresh, the plugin's, is the most that a value ages on top of its
// window. A cluster younger than the window is averaged over its life, and taken as idle
// until its first value: it was there before the workload.
const (
	watcherWindow  = 900
	watcherScrape  = 15
	watcherPoll    = 60
	watcherRefresh = 30
	// keptScrapes are those of a window.
	keptScrapes = watcherWindow / watcherScrape
)

func positive(name string, value float64) error {
	if !(value > 0) || math.IsInf(value, 1) {
		return refuse(name, value, "a finite number of seconds above 0 (0 is the default)")
	}
	return nil
}

// watched is a policy that reads a load-watcher.
type watched struct {
	plain
	latest  bool       // takes the newest scrape in place of the window, as with metrics-server for a source
	poll    float64    // load-watcher's interval
	refresh float64    // the plugin's
	scrapes [][]scrape // a ring a node
	count   int
	polled  []view // at load-watcher
	seen    []view // at the plugin
	last    []counter
}

// watchingPolicy scores each node by itself and by what the load-watcher knows of it.
type watchingPolicy struct {
	watched
	score func(m *machine, seen *view, pod int32) float64
}

func watching(c *Cluster, latest bool, refresh float64, score func(m *machine, seen *view, pod int32) float64) (Policy, error) {
	p := &watchingPolicy{watch(c, latest), score}
	if refresh != 0 {
		p.poll, p.refresh = refresh, refresh
		return p, positive("Refresh", refresh)
	}
	return p, nil
}

func (p *watchingPolicy) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		scores[i] = p.score(p.c.nodes[n], &p.seen[n], int32(pod))
	}
}

// view is what is known of a node's usage, at the end of the window.
type view struct {
	at          float64
	cpu, memory baseline.Usage
}

type scrape struct{ cpu, memory float64 }

// counter is a node's cumulative usage at a time, and what of the CPU pods with work used.
type counter struct{ at, busy, byteSeconds, pods float64 }

// The nodes of the events that mean all nodes.
const (
	pollAll    = -1
	refreshAll = -2
	scrapeAll  = -3
)

func watch(c *Cluster, latest bool) watched {
	n := len(c.run.nodes)
	return watched{
		plain: plain{c.run}, latest: latest, poll: watcherPoll, refresh: watcherRefresh, scrapes: make([][]scrape, n),
		polled: make([]view, n), seen: make([]view, n), last: make([]counter, n),
	}
}

// start draws the phases of the three intervals.
func (p *watched) start() {
	rng := rand.New(rand.NewPCG(p.c.Seed, streamPhases))
	for _, e := range []struct {
		kind   eventKind
		node   int32
		period float64
	}{{measured, scrapeAll, watcherScrape}, {measured, pollAll, p.poll}, {published, refreshAll, p.refresh}} {
		p.c.agenda.add(event{at: rng.Float64() * e.period, kind: e.kind, node: e.node})
	}
}

func (p *watched) handle(e event) {
	period := 0.
	switch e.node {
	case scrapeAll:
		period = watcherScrape
		p.scrape()
	case pollAll:
		period = p.poll
		p.average()
	case refreshAll:
		period = p.refresh
		copy(p.seen, p.polled)
	}
	p.c.agenda.add(event{at: p.c.now + period, kind: e.kind, node: e.node})
}

// scrape takes the rates since the last.
func (p *watched) scrape() {
	for i, m := range p.c.nodes {
		p.c.advance(m)
		now, before := m.counter(p.c.now), p.last[i]
		p.last[i] = now
		if now.at <= before.at {
			continue
		}
		s := scrape{cpu: (now.busy - before.busy) / (now.at - before.at), memory: m.model.Memory()}
		if len(p.scrapes[i]) < keptScrapes {
			p.scrapes[i] = append(p.scrapes[i], s)
		} else {
			p.scrapes[i][p.count%keptScrapes] = s
		}
	}
	p.count++
}

func (m *machine) counter(now float64) counter {
	t := m.model.Totals()
	return counter{now, t.Busy, t.ByteSeconds, t.Pods}
}

// average averages over the window.
func (p *watched) average() {
	for i, ring := range p.scrapes {
		if len(ring) == 0 {
			continue
		}
		if p.latest {
			newest := ring[len(ring)-1]
			if len(ring) == keptScrapes {
				newest = ring[(p.count-1)%keptScrapes]
			}
			ring = []scrape{newest}
		}
		v := view{at: p.c.now}
		for _, s := range ring {
			v.cpu.Mean += s.cpu / float64(len(ring))
			v.memory.Mean += s.memory / float64(len(ring))
		}
		for _, s := range ring {
			v.cpu.SD += (s.cpu - v.cpu.Mean) * (s.cpu - v.cpu.Mean) / float64(len(ring))
			v.memory.SD += (s.memory - v.memory.Mean) * (s.memory - v.memory.Mean) / float64(len(ring))
		}
		v.cpu.SD, v.memory.SD = math.Sqrt(v.cpu.SD), math.Sqrt(v.memory.SD)
		p.polled[i] = v
	}
}

// The telemetry of LoadAware by default, in seconds: each node reports the mean usage over a
// window, or over less of a younger node or pod, its own and that of its pods.
const (
	koordletInterval = 60
	koordletWindow   = 300
)

// koordlets are those of all nodes.
type koordlets struct {
	c        *cluster
	interval float64
	past     [][]counter
	seen     []koordView
	pods     []podView
}

// koordView is a node's newest report. system is what is used outside of pods, others what is
// used by pods that were there from the start.
type koordView struct {
	at                    float64
	usage, system, others baseline.Resources
}

// podView is what the report made at the given time said of a pod.
type podView struct {
	at    float64
	usage baseline.Resources
}

func newKoordlets(c *cluster, interval float64) *koordlets {
	return &koordlets{c: c, interval: interval, past: make([][]counter, len(c.nodes)), seen: make([]koordView, len(c.nodes)), pods: make([]podView, len(c.pods))}
}

// begin draws each node's phase; a node without any report yet is taken as idle.
func (k *koordlets) begin() {
	rng := rand.New(rand.NewPCG(k.c.Seed, streamPhases))
	for i := range k.c.nodes {
		k.c.agenda.add(event{at: rng.Float64() * k.interval, kind: measured, node: int32(i)})
	}
}

func (k *koordlets) report(e event) {
	m := k.c.nodes[e.node]
	k.c.advance(m)
	now := m.counter(k.c.now)
	past := append(k.past[e.node], now)
	for len(past) > 1 && now.at-past[0].at > koordletWindow+1e-6 {
		past = past[1:]
	}
	k.past[e.node] = past
	first := past[0]
	if len(past) == 1 {
		first = counter{}
	}
	v := koordView{at: k.c.now}
	if span := now.at - first.at; span > 0 {
		v.usage = baseline.Resources{CPU: (now.busy - first.busy) / span, Memory: (now.byteSeconds - first.byteSeconds) / span}
		v.system.CPU = (now.busy - now.pods - first.busy + first.pods) / span
	}
	v.system.Memory = m.model.Memory()
	for _, pod := range m.assigned {
		usage, _ := m.model.Usage(node.PodID(pod))
		v.system.Memory -= usage.Memory
		if p := &k.c.pods[pod]; p.On > 0 {
			v.others.Memory += usage.Memory
			if p.Server.Rate == 0 { // what servers use is the system's in the counters
				v.others.CPU += usage.CPU / k.c.now
			}
		}
		done, ok := m.model.Progress(node.PodID(pod))
		ran := k.c.now - k.c.Warmup - k.c.records[pod].Running
		if ok && k.c.records[pod].Running >= 0 && ran > 0 {
			k.pods[pod] = podView{k.c.now, k.c.podUsage(m, pod, done/ran)}
		}
	}
	k.seen[e.node] = v
	k.c.agenda.add(event{at: k.c.now + k.interval, kind: measured, node: e.node})
}

// podUsage is what a pod holds, and the cores that it had in the mean so far where requests
// count for none.
func (s *cluster) podUsage(m *machine, pod int32, cores float64) baseline.Resources {
	p := &s.pods[pod]
	if len(p.Phases) == 0 && (!p.isServer() || p.On > 0) {
		return baseline.Resources{CPU: cores, Memory: p.Memory}
	}
	u, _ := m.model.Usage(node.PodID(pod))
	return baseline.Resources{CPU: u.CPU / (s.now - s.Warmup - s.records[pod].Running), Memory: u.Memory}
}
