package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Source knows what the page shows. Its methods are safe for concurrent use, and return when
// ctx ends. State is called once a second while there are readers, never twice at a time, and not
// at all without readers. Node and Pod are called when a reader asks.
//
// What they return is not modified afterwards, by either side.
type Source interface {
	// State is everything, now.
	State(ctx context.Context) (State, error)
	// Node explains in words why a node has the room that it has, or takes no pod. The error of a
	// node that is not there wraps ErrUnknownNode.
	Node(ctx context.Context, name string) (Explanation, error)
	// Pod is what has happened to a pod. The error of one that is not there wraps ErrUnknownPod.
	Pod(ctx context.Context, namespace, name string) (Timeline, error)
}

// What a Source does not know.
var (
	ErrUnknownNode = errors.New("there is no such node")
	ErrUnknownPod  = errors.New("there is no such pod")
)

// State is everything that the page shows at a moment. Numbers that are not finite count as
// not known, negative counts as 0. Like all types here but Source it is a plain value.
type State struct {
	// At is when it was so, by the clock that all times in it are by; the zero time is when
	// State returned.
	At time.Time `json:"at"`
	// Title is a few words for what is looked at, such as a cluster's name.
	Title string `json:"title,omitempty"`
	// Runs are what the profiles have done with pods, in the order in which they are drawn.
	Runs []Run `json:"runs,omitempty"`
	// Comparable is set if the runs were given the same pods on the same nodes, one run after
	// another, so that a difference between them is the profiles'. The page compares no others.
	Comparable bool `json:"comparable,omitempty"`
	// Nodes are all, in any order. Of those with one name the first counts.
	Nodes []Node `json:"nodes,omitempty"`
	// Waiting are the pods that wait longest, longest first: a hundred are enough.
	Waiting []Waiting `json:"waiting,omitempty"`
	// WaitingTotal is how many wait in all; it counts as len(Waiting) at least.
	WaitingTotal int `json:"waitingTotal"`
}

// Run is what one profile has done with pods: a batch in a demonstration, or since the
// scheduler began.
type Run struct {
	// Profile is the scheduler's name, as pods say it.
	Profile string `json:"profile"`
	// Started is when its first pod was created, the zero time if none was yet.
	Started time.Time `json:"started"`
	// Ended is set if no more pods come. Comparable runs are compared once they have ended.
	Ended bool `json:"ended,omitempty"`
	// Submitted are the pods created so far; Total are those that are to be in the end, 0 where
	// that is open.
	Submitted int `json:"submitted"`
	Total     int `json:"total,omitempty"`
	// Starting are the pods that are bound and don't run yet, Running those that run. Done and
	// Failed are those that have ended, well or not.
	Starting int `json:"starting"`
	Running  int `json:"running"`
	Done     int `json:"done"`
	Failed   int `json:"failed,omitempty"`
	// Resolution is how exact Completions are: a second where they are from what kubelets say of
	// containers, 0 for exact. The page says so.
	Resolution time.Duration `json:"resolutionNanos,omitempty"`
	// Completions are of the pods that are done, in any order; where the run is open, of the
	// latest. Of more than MaxCompletions the latest count.
	Completions []Completion `json:"completions,omitempty"`
}

// MaxCompletions bounds what of a run is looked at.
const MaxCompletions = 20_000

// Completion is a pod that is done.
type Completion struct {
	// Since is when it was done, since its run's Started.
	Since time.Duration `json:"sinceNanos"`
	// Took is the time from the pod's creation until it was done.
	Took time.Duration `json:"tookNanos"`
}

// Signal is what is heard of a node.
type Signal string

// Missing is the signal of a node whose agent has never reported, Stale of one whose last report is
// too old to be used. Other values count as Missing.
const (
	Missing Signal = ""
	Fresh   Signal = "fresh"
	Stale   Signal = "stale"
)

// Node is what the scheduler knows of a node. All but Name, Signal and Reason are of its last
// report, less what was bound to it since.
type Node struct {
	Name   string `json:"name"`
	Signal Signal `json:"signal,omitempty"`
	// Reason is in a few words why it takes no pod now, such as "cpu is used up"; empty
	// if it has room. If ByRequests is set, it takes pods by their requests alone, and Reason is
	// why its room is not known, such as "no report for 31 s".
	Reason     string `json:"reason,omitempty"`
	ByRequests bool   `json:"byRequests,omitempty"`
	// Free is how many pods still fit, which may be a fraction or negative; Capacity is how many
	// would if none ran, 0 where that is not known.
	Free     float64 `json:"free"`
	Capacity float64 `json:"capacity,omitempty"`
	// Running are the pods that its agent counts, InFlight those bound and not counted yet.
	Running  int     `json:"running"`
	InFlight float64 `json:"inFlight,omitempty"`
	// Limiting is the resource that is shortest, by its channel's name: cpu, memory; with
	// a remark if what a pod takes of it was not measured.
	Limiting string `json:"limiting,omitempty"`
	// Saturated is whether a resource is used up.
	Saturated bool `json:"saturated,omitempty"`
}

// Waiting is a pod that has found no node.
type Waiting struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Profile   string `json:"profile,omitempty"`
	// Since is when it began to wait.
	Since time.Time `json:"since"`
	// Reason is why, in the scheduler's words.
	Reason string `json:"reason,omitempty"`
}

// Explanation is why a node is as it is: a sentence a line, the most important first.
type Explanation struct {
	Lines []string `json:"lines"`
	// Pods are the node's pods, whose timelines the page shows; a hundred are enough.
	Pods []PodName `json:"pods,omitempty"`
}

// PodName names a pod.
type PodName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Timeline is what has happened to a pod.
type Timeline struct {
	// Profile is the scheduler's name, Node where the pod is bound to, empty if nowhere.
	Profile string `json:"profile,omitempty"`
	Node    string `json:"node,omitempty"`
	// Steps are in the order in which they happened: created, tried, reserved, bound, listed,
	// started, done.
	Steps []Step `json:"steps"`
	// Lines are in words why it is where it is, or why it waits.
	Lines []string `json:"lines,omitempty"`
}

// Step is one thing that happened.
type Step struct {
	Name string `json:"name"`
	// At is when, the zero time if that is not known.
	At time.Time `json:"at"`
	// Detail adds a few words, such as a count or a node.
	Detail string `json:"detail,omitempty"`
}

// The paths below the one where a RelayHandler is served.
const (
	statePath = "/state"
	nodePath  = "/node"
	podPath   = "/pod"
)

// RelayHandler answers below the given path, which has no slash at its end, to GET and HEAD:
//
//	GET PATH/state                  a State
//	GET PATH/node?name=             an Explanation
//	GET PATH/pod?namespace=&name=   a Timeline
//
// What the Source does not know is 404, another of its errors 503. Who may ask, and by which
// name, is the server's to say: what is shown here it shows to whoever gets here. A program of another
// version may ask: what one of the two does not know the other leaves out.
func RelayHandler(path string, source Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path+statePath, func(w http.ResponseWriter, r *http.Request) {
		state, err := source.State(r.Context())
		relayed(w, state, err)
	})
	mux.HandleFunc("GET "+path+nodePath, func(w http.ResponseWriter, r *http.Request) {
		node, err := source.Node(r.Context(), r.URL.Query().Get("name"))
		relayed(w, node, err)
	})
	mux.HandleFunc("GET "+path+podPath, func(w http.ResponseWriter, r *http.Request) {
		pod, err := source.Pod(r.Context(), r.URL.Query().Get("namespace"), r.URL.Query().Get("name"))
		relayed(w, pod, err)
	})
	return mux
}

// relayed answers with what a Source returned.
func relayed(w http.ResponseWriter, what any, err error) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case errors.Is(err, ErrUnknownNode), errors.Is(err, ErrUnknownPod):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		reply(w, http.StatusOK, what)
	}
}

// relayClient is the Source behind a RelayHandler. Safe for concurrent use.
type relayClient struct {
	get  func(ctx context.Context, path string, query url.Values) ([]byte, error)
	path string
}

// errNoPage is wrapped by State's error for a program that serves no RelayHandler at the path.
var errNoPage = errors.New("it shows nothing for a page there: is it of an older version?")

// NewRelayClient returns the Source of the RelayHandler that is served at the path, safe for concurrent
// use. get asks the program for what it shows at a path and returns its answer, also concurrently; the
// error of an answer that is not 200 has, or wraps what has, a method HTTPStatus() int.
func NewRelayClient(get func(ctx context.Context, path string, query url.Values) ([]byte, error), path string) Source {
	return &relayClient{get: get, path: path}
}

// State is everything, as the program last had it.
func (c *relayClient) State(ctx context.Context) (State, error) {
	return fetch[State](ctx, c, statePath, nil, errNoPage)
}

// Node explains why a node is as it is.
func (c *relayClient) Node(ctx context.Context, name string) (Explanation, error) {
	return fetch[Explanation](ctx, c, nodePath, url.Values{"name": {name}}, ErrUnknownNode)
}

// Pod is what has happened to a pod.
func (c *relayClient) Pod(ctx context.Context, namespace, name string) (Timeline, error) {
	return fetch[Timeline](ctx, c, podPath, url.Values{"namespace": {namespace}, "name": {name}}, ErrUnknownPod)
}

// fetch returns an answer, or an error that wraps missing if there is no such thing.
func fetch[T any](ctx context.Context, c *relayClient, path string, query url.Values, missing error) (T, error) {
	var what T
	text, err := c.get(ctx, c.path+path, query)
	var status interface{ HTTPStatus() int }
	if errors.As(err, &status) && status.HTTPStatus() == http.StatusNotFound {
		return what, fmt.Errorf("%w (%w)", missing, err)
	}
	if err != nil {
		return what, err
	}
	if err := json.Unmarshal(text, &what); err != nil {
		return what, fmt.Errorf("the answer to %s: %w", c.path+path, err)
	}
	return what, nil
}
