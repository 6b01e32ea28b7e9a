// Package silence plans the events that announce on nodes that their agent's signal is lost, and
// that it is back. It is pure: time is an argument, and the events are returned.
//
// A node gets at most one event in twice the time after which a signal counts as lost, so a
// flapping signal causes few. All nodes together get events no faster than a token bucket allows,
// so that a fleet that falls silent at once causes no flood: each event states how many nodes are
// silent, and nodes that are back before their turn get none.
//
// A node that has never reported gets no event: it may have no agent, and a new Planner does not
// know what an earlier one announced. Planners with the same input plan the same events. If only
// one of several sends them, another can take over where it ends: the events that a Planner
// planned while another one sent them count as sent.
package silence

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Config configures a Planner. A plain value; zero fields have their defaults.
type Config struct {
	// After is how long a node must be silent; default 5 min.
	After time.Duration
	// Burst is how many events may come at once; default 20.
	Burst int
	// Refill is the time after which one more event may come; default 6 s.
	Refill time.Duration
	// Period is the time between two Steps, which the caller keeps; default 5 s.
	Period time.Duration
	// Gap is the time between two Steps beyond which the caller is taken to have stood still, as
	// after a machine's sleep. Silence then counts from that Step; default 1 min.
	Gap time.Duration
}

// Defaults of Config.
const (
	DefaultAfter  = 5 * time.Minute
	DefaultBurst  = 20
	DefaultRefill = 6 * time.Second
	DefaultPeriod = 5 * time.Second
	DefaultGap    = time.Minute
)

// perNode is how many times After pass between two events of a node.
const perNode = 2

// WithDefaults returns a copy with the empty fields set to their defaults.
func (c Config) WithDefaults() Config {
	if c.After <= 0 {
		c.After = DefaultAfter
	}
	if c.Burst <= 0 {
		c.Burst = DefaultBurst
	}
	if c.Refill <= 0 {
		c.Refill = DefaultRefill
	}
	if c.Period <= 0 {
		c.Period = DefaultPeriod
	}
	if c.Gap <= 0 {
		c.Gap = DefaultGap
	}
	return c
}

// Node is the state of a node at a Step. A plain value.
type Node struct {
	Name string
	// Reported is set if there was a report, and Fresh if decisions rest on it. Heard is when its
	// newest sample was taken, by the clock of Step.
	Reported, Fresh bool
	Sampled         time.Duration
}

// Event is an event to record on a node. A plain value.
type Event struct {
	Node string
	// Lost is set if the signal is lost; otherwise it is back.
	Lost bool
	// Since is when the silence began.
	Since time.Duration
	// Silent is how many of all Nodes are lost at the moment, this one included if it is.
	Silent, Nodes int
}

// Planner plans events and remembers the last one of each node. It is for one goroutine; New
// makes one.
type Planner struct {
	config Config
	noted  map[string]*memory
	begun  bool
	last   time.Duration
	// floor is when the caller last stood still. No silence counts from an earlier time.
	floor time.Duration
	// tokens is how many events the bucket allows now, refilled the time up to which it was
	// refilled.
	tokens   int
	refilled time.Duration
}

// memory is a node's last event. A node that had none has no memory.
type memory struct {
	lost bool
	at   time.Duration
	// since is when the silence of that event began.
	since time.Duration
	seen  bool
}

// New returns a Planner that has planned no event yet.
func New(c Config) *Planner {
	c = c.WithDefaults()
	return &Planner{config: c, noted: make(map[string]*memory), tokens: c.Burst}
}

// Step returns the events that are due now, the longest silences first. now must not be before
// the last Step's. Nodes that are not in the list are forgotten.
func (p *Planner) Step(now time.Duration, nodes []Node) []Event {
	p.advance(now)
	for _, m := range p.noted {
		m.seen = false
	}
	var due []Event
	silent := 0
	for _, n := range nodes {
		e, lost := p.judge(now, n)
		if lost {
			silent++
		}
		if e != nil {
			due = append(due, *e)
		}
	}
	for name, m := range p.noted {
		if !m.seen {
			delete(p.noted, name)
		}
	}
	slices.SortFunc(due, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), strings.Compare(a.Node, b.Node))
	})
	due = due[:min(len(due), p.tokens)]
	p.tokens -= len(due)
	for i := range due {
		due[i].Silent, due[i].Nodes = silent, len(nodes)
		p.remember(now, due[i])
	}
	return due
}

// advance refills the bucket and notices that the caller stood still.
func (p *Planner) advance(now time.Duration) {
	if !p.begun {
		p.begun, p.last, p.refilled = true, now, now
	}
	if now-p.last > p.config.Gap {
		p.floor = now
	}
	p.last = now
	if more := (now - p.refilled) / p.config.Refill; more > 0 {
		p.tokens = int(min(int64(p.tokens)+int64(more), int64(p.config.Burst)))
		p.refilled += more * p.config.Refill
	}
}

// judge returns the event that a node is due, or nil, and whether the node is lost.
func (p *Planner) judge(now time.Duration, n Node) (due *Event, lost bool) {
	m := p.noted[n.Name]
	if m != nil {
		m.seen = true
	}
	if !n.Reported {
		return nil, m != nil && m.lost
	}
	since := max(n.Sampled, p.floor)
	lost = !n.Fresh && now-since >= p.config.After
	switch {
	case m != nil && now-m.at < perNode*p.config.After:
	case lost && (m == nil || !m.lost):
		return &Event{Node: n.Name, Lost: true, Since: since}, true
	case n.Fresh && m != nil && m.lost:
		return &Event{Node: n.Name, Since: m.since}, false
	}
	return nil, lost
}

func (p *Planner) remember(now time.Duration, e Event) {
	m := p.noted[e.Node]
	if m == nil {
		m = &memory{seen: true}
		p.noted[e.Node] = m
	}
	m.lost, m.at, m.since = e.Lost, now, e.Since
}
