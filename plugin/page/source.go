package page

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
	"github.com/spazio-scheduler/spazio/web"
)

// Options configures a Source; the zero value suits a cluster.
type Options struct {
	// Title describes what is shown, in a few words.
	Title string
	// Now is the clock of the API's times; default time.Now.
	Now func() time.Time
	// Virtual, if set, converts the API's times to the clock of State and of the times in Runs,
	// for nodes whose time passes faster.
	Virtual func(time.Time) time.Time
	// Runs, if set, returns what the profiles have done, and whether they can be compared, in
	// place of what the API's pods show.
	Runs func() (runs []web.Run, comparable bool)
}

// Source presents what a scheduler's Hub knows as a web.Source. Safe for concurrent use.
type Source struct {
	hub     *plugin.Hub
	options Options
}

var _ web.Source = (*Source)(nil)

// NewSource returns the Source of a Hub, which need not be started yet.
func NewSource(hub *plugin.Hub, o Options) *Source {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Virtual == nil {
		o.Virtual = func(at time.Time) time.Time { return at }
	}
	if o.Runs == nil {
		o.Runs = func() ([]web.Run, bool) { return Runs(hub.Pods(), hub.Placeholder, o.Now()), false }
	}
	return &Source{hub: hub, options: o}
}

// mostWaiting is how many waiting pods are listed individually.
const mostWaiting = 100

// State returns the current state of all nodes, waiting pods and runs.
func (s *Source) State(context.Context) (web.State, error) {
	state := web.State{At: s.options.Virtual(s.options.Now()), Title: s.options.Title}
	state.Runs, state.Comparable = s.options.Runs()
	for _, n := range s.hub.Snapshot() {
		state.Nodes = append(state.Nodes, Node(n))
	}
	pending, total := s.hub.Pending(mostWaiting)
	state.WaitingTotal = total
	for _, p := range pending {
		p.Since = s.options.Virtual(p.Since)
		state.Waiting = append(state.Waiting, web.Waiting(p))
	}
	return state, nil
}

// Node explains a node's state.
func (s *Source) Node(_ context.Context, name string) (web.Explanation, error) {
	n, known := s.hub.Node(name)
	if !known {
		return web.Explanation{}, fmt.Errorf("node %q: %w", name, web.ErrUnknownNode)
	}
	return web.Explanation{Lines: Explain(n, s.options.Now()), Pods: s.podsOn(name)}, nil
}

// mostPods is how many of a node's pods are listed.
const mostPods = 100

func (s *Source) podsOn(node string) (names []web.PodName) {
	for _, pod := range s.hub.Pods() {
		if pod.Spec.NodeName == node && !podstate.IsTerminal(pod) {
			names = append(names, web.PodName{Namespace: pod.Namespace, Name: pod.Name})
		}
	}
	return firstOf(names, mostPods)
}

// Pod returns what has happened to a pod.
func (s *Source) Pod(_ context.Context, namespace, name string) (web.Timeline, error) {
	e, err := s.hub.Explain(namespace + "/" + name)
	if errors.Is(err, plugin.ErrUnknownPod) {
		return web.Timeline{}, fmt.Errorf("pod %q in namespace %q: %w", name, namespace, web.ErrUnknownPod)
	}
	if err != nil {
		return web.Timeline{}, err
	}
	return Timeline(e), nil
}

// Timeline converts an Explanation to the page's form.
func Timeline(e plugin.Explanation) web.Timeline {
	t := web.Timeline{Profile: e.Profile, Node: e.Node, Lines: explanationLines(e)}
	for _, step := range e.Steps {
		s := web.Step{Name: step.Name, Detail: detail(step)}
		if step.At != nil {
			s.At = *step.At
		}
		t.Steps = append(t.Steps, s)
	}
	return t
}

// Node converts a node's state to the page's form.
func Node(n plugin.NodeState) web.Node {
	node := web.Node{
		Name: n.Node, Signal: signalOf(n.Signal), Age: n.Age, Reason: short(n), Free: n.Free, Running: n.Running,
		InFlight: n.InFlight, Limiting: n.Limiting, Saturated: n.Saturated,
	}
	if n.Assumed && n.Limiting != "" {
		node.Limiting += " (assumed)"
	}
	if node.Signal != web.Missing {
		node.Capacity = max(n.Avail, 0) + float64(n.Running)
	}
	return node
}

func signalOf(signal string) web.Signal {
	switch signal {
	case "fresh":
		return web.Fresh
	case "stale":
		return web.Stale
	}
	return web.Missing
}
