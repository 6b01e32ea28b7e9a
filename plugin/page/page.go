package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/web"
)

// Where the page is, and what web.RelayHandler answers.
const (
	Path       = plugin.DebugPath + "/page/"
	SourcePath = plugin.DebugPath + "/source"
)

// Page is a scheduler's page, and its Source for other programs. Safe for concurrent use.
type Page struct {
	source web.Source
	server *web.Server
}

// New makes the page of a Source. Its error is that of web.New.
func New(c web.Config) (*Page, error) {
	server, err := web.New(c)
	if err != nil {
		return nil, err
	}
	return &Page{c.Source, server}, nil
}

// Handlers are what a server of debug data has beside the Hub's own, by their patterns. The
// server's root leads to the page.
func (p *Page) Handlers() map[string]http.Handler {
	root := http.RedirectHandler(Path, http.StatusFound)
	return map[string]http.Handler{
		"GET /{$}":       root,
		Path:             http.StripPrefix(Path[:len(Path)-1], p.server),
		SourcePath + "/": web.RelayHandler(SourcePath, p.source),
	}
}

// Run makes the page's frames until ctx ends, which is no error.
func (p *Page) Run(ctx context.Context) error { return p.server.Run(ctx) }

// Options configures a Source; the zero value suits a cluster.
type Options struct {
	// Title describes what is shown, in a few words.
	Title string
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
	if o.Virtual == nil {
		o.Virtual = func(at time.Time) time.Time { return at }
	}
	if o.Runs == nil {
		o.Runs = func() ([]web.Run, bool) { return runs(hub.Pods(), hub.Placeholder, time.Now()), false }
	}
	return &Source{hub: hub, options: o}
}

// mostWaiting is how many waiting pods are listed individually.
const mostWaiting = 100

// State returns the current state of all nodes, waiting pods and runs.
func (s *Source) State(context.Context) (web.State, error) {
	state := web.State{At: s.options.Virtual(time.Now()), Title: s.options.Title}
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
	return web.Explanation{Lines: Explain(n, time.Now()), Pods: s.podsOn(name)}, nil
}

// mostPods is how many of a node's pods are listed.
const mostPods = 100

func (s *Source) podsOn(node string) (names []web.PodName) {
	for _, pod := range s.hub.Pods() {
		if pod.Spec.NodeName == node && !objects.IsTerminal(pod) {
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
	return timeline(e), nil
}

// timeline converts an Explanation to the page's form.
func timeline(e plugin.Explanation) web.Timeline {
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
		Name: n.Node, Signal: signalOf(n.Signal), Reason: short(n), Free: n.Free, Running: n.Running,
		InFlight: n.InFlight, Limiting: n.Limiting, Saturated: n.Saturated,
	}
	if n.Assumed && n.Limiting != "" {
		node.Limiting += " (assumed)"
	}
	node.ByRequests = node.Signal != web.Fresh && n.Reason == reserve.Admitted.String()
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

// Course holds when a pod reached each stage; the zero time means not yet. A plain value.
type Course struct {
	Created, Bound, Running, Done time.Time
	// Failed is set if the pod is done without having done its work.
	Failed bool
}

// Sum summarizes the pods of one profile. total is how many there will be in the end, 0 if that
// is open. Pods that failed have no completion.
func Sum(profile string, total int, courses []Course) web.Run {
	r := web.Run{Profile: profile, Total: total}
	for _, c := range courses {
		if c.Created.IsZero() {
			continue
		}
		r.Submitted++
		if r.Started.IsZero() || c.Created.Before(r.Started) {
			r.Started = c.Created
		}
		switch {
		case c.Failed:
			r.Failed++
		case !c.Done.IsZero():
			r.Done++
		case !c.Running.IsZero():
			r.Running++
		case !c.Bound.IsZero():
			r.Starting++
		}
	}
	for _, c := range courses {
		if !c.Created.IsZero() && !c.Done.IsZero() && !c.Failed {
			r.Completions = append(r.Completions, web.Completion{Since: c.Done.Sub(r.Started), Took: c.Done.Sub(c.Created)})
		}
	}
	r.Ended = total > 0 && r.Done+r.Failed >= total
	return r
}

// recently is how long after its end a pod is still drawn, as a page shows what is going on.
const recently = time.Hour

// runs summarizes a cluster's pods by profile, in the order of the profiles' names: those that
// are not done, and those that were done within the last hour. Their times come from the API and
// from containers' statuses, which have no fractions of seconds. Pods of nodes, such as
// DaemonSets', are left out, because no node is chosen for them, and so are placeholders.
func runs(pods []*v1.Pod, placeholder func(types.UID) bool, now time.Time) []web.Run {
	byProfile := make(map[string][]Course)
	for _, pod := range pods {
		if objects.IsNodeOwned(pod) || placeholder(pod.UID) {
			continue
		}
		c := courseOf(pod)
		if c.Done.IsZero() || now.Sub(c.Done) < recently {
			byProfile[pod.Spec.SchedulerName] = append(byProfile[pod.Spec.SchedulerName], c)
		}
	}
	var runs []web.Run
	for _, profile := range slices.Sorted(maps.Keys(byProfile)) {
		r := Sum(profile, 0, byProfile[profile])
		r.Resolution = time.Second
		if len(r.Completions) > web.MaxCompletions { // the earliest completions are dropped
			slices.SortFunc(r.Completions, func(a, b web.Completion) int { return cmp.Compare(b.Since, a.Since) })
			r.Completions = r.Completions[:web.MaxCompletions]
		}
		runs = append(runs, r)
	}
	return runs
}

// courseOf returns the stages that a pod has reached.
func courseOf(pod *v1.Pod) Course {
	c := Course{Created: pod.CreationTimestamp.Time, Failed: pod.Status.Phase == v1.PodFailed}
	if pod.Spec.NodeName != "" {
		c.Bound = c.Created // only whether it is bound counts
	}
	switch pod.Status.Phase {
	case v1.PodRunning:
		c.Running = c.Created
	case v1.PodSucceeded, v1.PodFailed:
		c.Done = cmp.Or(objects.EndedAt(pod), c.Created)
	}
	return c
}
