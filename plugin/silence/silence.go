// Package silence plans which nodes are told that their agent's signal is lost, and that it
// is back. It is pure: time is an argument, and what is told is returned.
//
// A node is told at most once in twice the time after which a signal counts as lost, so one
// whose signal flaps is told of little; and all nodes together no faster than a bucket
// allows, so that a fleet that falls silent at once makes no flood: each event says how many
// nodes are silent, and those that are back before their turn are told of nothing.
//
// Of a node that has never reported nothing is told: it may have no agent, and a Planner that
// begins anew does not know what another told before it. Planners that hear the same signals
// plan the same, so of several of which one speaks another goes on where that one ends: what
// it would have said while it was silent itself counts as said.
package silence

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Config of a Planner. A plain value; of the zero value all fields are their defaults.
type Config struct {
	// After is how long a node has to be silent; default 5 min.
	After time.Duration
	// Burst is how many events there may be at once; default 20.
	Burst int
	// Refill is after what time there may be one more; default 6 s.
	Refill time.Duration
	// Period is the time between two Steps, which their caller keeps; default 5 s.
	Period time.Duration
	// Gap is the time between two Steps from which the caller is taken to have stood still,
	// as after a machine's sleep: silence then counts from that Step; default 1 min.
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

// Node is what is known of one at a Step. A plain value.
type Node struct {
	Name string
	// Reported says that there was a report, Heard when its newest sample was taken, by the
	// clock of Step, and Fresh that decisions rest on it.
	Reported, Fresh bool
	Heard           time.Duration
}

// Event is something to tell a node. A plain value.
type Event struct {
	Node string
	// Lost says that the signal is lost, else that it is back.
	Lost bool
	// Since is when the silence began that is told of.
	Since time.Duration
	// Silent of Nodes are lost at the moment, that node counted.
	Silent, Nodes int
}

// Planner knows what was told. It is for one goroutine; New makes one.
type Planner struct {
	config Config
	told   map[string]*memory
	begun  bool
	last   time.Duration
	// floor is when the caller last stood still: nobody was heard before.
	floor time.Duration
	// tokens are those of the bucket, refilled those that came with time.
	tokens   int
	refilled time.Duration
}

// memory is what was told of a node; one that was told of nothing has none.
type memory struct {
	lost bool
	at   time.Duration
	// since is when the silence began that was told.
	since time.Duration
	seen  bool
}

// New returns a Planner that has told nothing.
func New(c Config) *Planner {
	c = c.WithDefaults()
	return &Planner{config: c, told: make(map[string]*memory), tokens: c.Burst}
}

// Step returns what nodes are to be told at a time that is not before the last Step's, those
// that are silent for longest first. Nodes that are not among them are forgotten.
func (p *Planner) Step(now time.Duration, nodes []Node) []Event {
	p.advance(now)
	for _, m := range p.told {
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
	for name, m := range p.told {
		if !m.seen {
			delete(p.told, name)
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

// judge returns what a node is to be told, nil for nothing, and whether it is lost.
func (p *Planner) judge(now time.Duration, n Node) (due *Event, lost bool) {
	m := p.told[n.Name]
	if m != nil {
		m.seen = true
	}
	if !n.Reported {
		return nil, m != nil && m.lost
	}
	since := max(n.Heard, p.floor)
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
	m := p.told[e.Node]
	if m == nil {
		m = &memory{seen: true}
		p.told[e.Node] = m
	}
	m.lost, m.at, m.since = e.Lost, now, e.Since
}
