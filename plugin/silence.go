package plugin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

const (
	// silenceBurst is how many events may come at once, silenceRefill the time after which one more
	// event may come.
	silenceBurst  = 20
	silenceRefill = 6 * time.Second
	// silencePeriod is the time between two steps.
	silencePeriod = 5 * time.Second
	// silenceGap is the time between two steps beyond which the caller is taken to have stood still,
	// as after a machine's sleep. Silence then counts from that step.
	silenceGap = time.Minute
	// perNode is how many times silencePlanner.after pass between two events of a node.
	perNode = 2
)

// silentNode is the state of a node at a step. A plain value.
type silentNode struct {
	Name string
	// Reported is set if there was a report, and Fresh if decisions rest on it. Sampled is when its
	// newest sample was taken, by the clock of step.
	Reported, Fresh bool
	Sampled         time.Duration
}

// silenceEvent is an event to record on a node. A plain value.
type silenceEvent struct {
	Node string
	// Lost is set if the signal is lost; otherwise it is back.
	Lost bool
	// Since is when the silence began.
	Since time.Duration
	// Silent is how many of all Nodes are lost at the moment, this one included if it is.
	Silent, Nodes int
}

// silencePlanner plans the events that announce on nodes that their agent's signal is lost, and
// that it is back. It is pure: time is an argument, and the events are returned.
//
// A node gets at most one event in twice the time after which a signal counts as lost, so a
// flapping signal causes few. All nodes together get events no faster than a token bucket allows,
// so that a fleet that falls silent at once causes no flood: each event states how many nodes are
// silent, and nodes that are back before their turn get none.
//
// A node that has never reported gets no event: it may have no agent, and a new planner does not
// know what an earlier one announced. Planners with the same input plan the same events. If only
// one of several sends them, another can take over where it ends: the events that a planner
// planned while another one sent them count as sent.
//
// It remembers the last event of each node. It is for one goroutine; newSilencePlanner
// makes one.
type silencePlanner struct {
	// after is how long a node must be silent; gap is silenceGap unless a test sets another.
	after, gap time.Duration
	noted      map[string]*lastEvent
	begun      bool
	last       time.Duration
	// floor is when the caller last stood still. No silence counts from an earlier time.
	floor time.Duration
	// tokens is how many events the bucket allows now, refilled the time up to which it was
	// refilled.
	tokens   int
	refilled time.Duration
}

// lastEvent is a node's last event. It is never changed; a node that had none has no lastEvent.
type lastEvent struct {
	lost bool
	at   time.Duration
	// since is when the silence of that event began.
	since time.Duration
}

// newSilencePlanner returns a silencePlanner that has planned no event yet.
func newSilencePlanner(after, gap time.Duration) *silencePlanner {
	return &silencePlanner{after: after, gap: gap, noted: make(map[string]*lastEvent), tokens: silenceBurst}
}

// step returns the events that are due now, the longest silences first. now must not be before
// the last step's. Nodes that are not in the list are forgotten.
func (p *silencePlanner) step(now time.Duration, nodes []silentNode) []silenceEvent {
	p.advance(now)
	var due []silenceEvent
	silent, noted := 0, make(map[string]*lastEvent, len(p.noted))
	for _, n := range nodes {
		m := p.noted[n.Name]
		if m != nil {
			noted[n.Name] = m
		}
		e, lost := p.judge(now, n, m)
		if lost {
			silent++
		}
		if e != nil {
			due = append(due, *e)
		}
	}
	p.noted = noted
	slices.SortFunc(due, func(a, b silenceEvent) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), strings.Compare(a.Node, b.Node))
	})
	due = due[:min(len(due), p.tokens)]
	p.tokens -= len(due)
	for i := range due {
		due[i].Silent, due[i].Nodes = silent, len(nodes)
		p.noted[due[i].Node] = &lastEvent{lost: due[i].Lost, at: now, since: due[i].Since}
	}
	return due
}

// advance refills the bucket and notices that the caller stood still.
func (p *silencePlanner) advance(now time.Duration) {
	if !p.begun {
		p.begun, p.last, p.refilled = true, now, now
	}
	if now-p.last > p.gap {
		p.floor = now
	}
	p.last = now
	if more := (now - p.refilled) / silenceRefill; more > 0 {
		p.tokens = int(min(int64(p.tokens)+int64(more), silenceBurst))
		p.refilled += more * silenceRefill
	}
}

// judge returns the event that a node with a last event is due, or nil, and whether the node is lost.
func (p *silencePlanner) judge(now time.Duration, n silentNode, m *lastEvent) (due *silenceEvent, lost bool) {
	if !n.Reported {
		return nil, m != nil && m.lost
	}
	since := max(n.Sampled, p.floor)
	lost = !n.Fresh && now-since >= p.after
	switch {
	case m != nil && now-m.at < perNode*p.after:
	case lost && (m == nil || !m.lost):
		return &silenceEvent{Node: n.Name, Lost: true, Since: since}, true
	case n.Fresh && m != nil && m.lost:
		return &silenceEvent{Node: n.Name, Since: m.since}, false
	}
	return nil, lost
}

// Reasons of the events that are recorded on nodes.
const (
	reasonSignalLost = "SpazioSignalLost"
	reasonSignalBack = "SpazioSignalBack"
)

// announceSignals records events on nodes whose signals are lost or back until ctx ends, if this
// scheduler leads. If it does not, the leader records what both plan; see [silencePlanner].
func (h *Hub) announceSignals(ctx context.Context, recorder events.EventRecorder, nodes listers.NodeLister) {
	planner := newSilencePlanner(h.args.SignalLostAfter.Duration, cmp.Or(h.options.silenceGap, silenceGap))
	ticker := time.NewTicker(cmp.Or(h.options.silencePeriod, silencePeriod))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := h.now()
		due := planner.step(now, h.silences())
		if len(due) == 0 || recorder == nil || !h.options.Leading() {
			continue
		}
		for _, e := range due {
			node, err := nodes.Get(e.Node)
			if err != nil {
				continue // the node has gone meanwhile
			}
			h.announceSignal(recorder, node, e, now)
		}
		klog.FromContext(ctx).Info("Recorded events about signals of nodes", "events", len(due), "silent", due[0].Silent, "nodes", due[0].Nodes)
	}
}

// silences returns the nodes and when the newest sample of each was taken.
func (h *Hub) silences() []silentNode {
	at := h.moment()
	d := h.nodes.list()
	all := make([]silentNode, 0, len(d.nodes))
	for _, n := range d.nodes {
		v := n.view.Load()
		all = append(all, silentNode{
			Name: n.name, Reported: v.report != nil, Sampled: v.sampled, Fresh: v.fresh(at.Now),
		})
	}
	return all
}

func (h *Hub) announceSignal(recorder events.EventRecorder, node *v1.Node, e silenceEvent, now time.Duration) {
	if !e.Lost {
		recorder.Eventf(node, nil, v1.EventTypeNormal, reasonSignalBack, "Watching", "its agent reports again; it was silent from %s", h.start.Add(e.Since).UTC().Format(time.RFC3339))
		return
	}
	recorder.Eventf(node, nil, v1.EventTypeWarning, reasonSignalLost, "Watching",
		"no report of its agent for %v: what room it has is not known; %d of %s silent", (now - e.Since).Round(time.Second), e.Silent, areNodes(e.Nodes))
}

// areNodes returns a number of nodes with its verb, as in "of 2 nodes are".
func areNodes(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return plural(n, "node") + " are"
}
