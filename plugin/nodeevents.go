package plugin

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/plugin/silence"
)

// Reasons of the events that are recorded on nodes.
const (
	SignalLost = "SpazioSignalLost"
	SignalBack = "SpazioSignalBack"
)

// announceSignals records events on nodes whose signals are lost or back until ctx ends, if this
// scheduler leads. If it does not, the leader records what both plan; see package silence.
func (h *Hub) announceSignals(ctx context.Context, recorder events.EventRecorder, nodes listers.NodeLister) {
	config := h.options.Silences.WithDefaults()
	config.After = h.args.SignalLostAfter.Duration
	planner := silence.New(config)
	ticker := time.NewTicker(config.Period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := h.now()
		due := planner.Step(now, h.silences())
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
func (h *Hub) silences() []silence.Node {
	at := h.moment()
	d := h.nodes.list()
	all := make([]silence.Node, 0, len(d.nodes))
	for _, n := range d.nodes {
		v := n.view.Load()
		all = append(all, silence.Node{
			Name: n.name, Reported: v.report != nil, Sampled: v.sampled, Fresh: v.fresh(at.Now),
		})
	}
	return all
}

func (h *Hub) announceSignal(recorder events.EventRecorder, node *v1.Node, e silence.Event, now time.Duration) {
	if !e.Lost {
		recorder.Eventf(node, nil, v1.EventTypeNormal, SignalBack, "Watching", "its agent reports again; it was silent from %s", h.start.Add(e.Since).UTC().Format(time.RFC3339))
		return
	}
	recorder.Eventf(node, nil, v1.EventTypeWarning, SignalLost, "Watching",
		"no report of its agent for %v: what room it has is not known; %d of %s silent", (now - e.Since).Round(time.Second), e.Silent, areNodes(e.Nodes))
}

// areNodes returns a number of nodes with its verb, as in "of 2 nodes are".
func areNodes(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return plural(n, "node") + " are"
}

// leaderMetric is the metric of client-go's leader election that shows whether the process leads.
const leaderMetric = "leader_election_master_status"

// leading reports whether the process leads. A process without leader election does.
func leading() bool {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil && len(families) == 0 {
		return false
	}
	for _, f := range families {
		if f.GetName() != leaderMetric {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetGauge().GetValue() > 0 {
				return true
			}
		}
		return len(f.GetMetric()) == 0
	}
	return true
}
