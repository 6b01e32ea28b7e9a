package browser

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/web"
)

// now is the time of the scenes.
var now = time.Date(2026, 11, 23, 9, 30, 12, 0, time.UTC)

// webStage is a Source whose State the test sets.
type webStage struct {
	mu    sync.Mutex
	state web.State
	err   error
	block chan struct{} // State waits for it to be closed
	cut   func()        // cuts all connections to the page
}

func (s *webStage) State(ctx context.Context) (web.State, error) {
	s.mu.Lock()
	state, err, block := s.state, s.err, s.block
	s.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return web.State{}, ctx.Err()
		}
	}
	return state, err
}

func (s *webStage) Node(_ context.Context, name string) (web.Explanation, error) {
	for _, n := range s.now().Nodes {
		if n.Name == name {
			return web.Explanation{
				Lines: []string{
					"Its agent measured 1.6 of 2 cores and 41 % of memory in the last second.",
					"A pod takes .25 of a core here, ± .03, so that " + fmt.Sprintf("%.1f", n.Free) + " more fit.",
				},
				Pods: []web.PodName{{Namespace: "default", Name: "batch-17"}, {Namespace: "default", Name: "batch-4"}},
			}, nil
		}
	}
	return web.Explanation{}, &field.Error{Package: "web", Field: "node", Value: name, Err: web.ErrUnknownNode}
}

func (s *webStage) Pod(_ context.Context, namespace, name string) (web.Timeline, error) {
	if namespace != "default" {
		return web.Timeline{}, &field.Error{Package: "web", Field: "pod", Value: namespace + "/" + name, Err: web.ErrUnknownPod}
	}
	at := func(d time.Duration) time.Time { return now.Add(-40*time.Second + d) }
	return web.Timeline{
		Profile: "spazio", Node: s.now().Nodes[3].Name,
		Steps: []web.Step{
			{Name: "created", At: at(0)},
			{Name: "tried", At: at(40 * time.Millisecond), Detail: "17 of 20 nodes had no room: 14 full, 2 saturated, 1 with no signal"},
			{Name: "reserved", At: at(9 * time.Second), Detail: "with 1.4 pods free; the next best had 1.1"},
			{Name: "bound", At: at(9*time.Second + 12*time.Millisecond)},
			{Name: "listed", At: at(9*time.Second + 410*time.Millisecond), Detail: "the node's agent counts it"},
			{Name: "done", At: at(31 * time.Second)},
		},
		Lines: []string{"It waited 9 s for a node with room, and then ran alone on its core."},
	}, nil
}

func (s *webStage) now() web.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// set lets the test change how the source answers.
func (s *webStage) set(by func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by()
}

// change lets the test change a copy of the State; it must copy the slices that it changes.
func (s *webStage) change(by func(*web.State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	state.Nodes = append([]web.Node{}, state.Nodes...)
	by(&state)
	s.state = state
}

// serve shows a State and its later frames.
func serveWeb(t testing.TB, state web.State, as ...func(*web.Config)) (*webStage, string) {
	t.Helper()
	source := &webStage{state: state}
	// A check of every element blocks a page for longer than a reader may be slow.
	c := web.Config{Source: source, Interval: 50 * time.Millisecond, WriteTimeout: time.Hour, Logger: slog.New(slog.DiscardHandler)}
	for _, change := range as {
		change(&c)
	}
	server, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	mux := http.NewServeMux()
	mux.Handle("/page/", http.StripPrefix("/page", server)) // below a path, as in a scheduler
	listener := httptest.NewServer(mux)
	source.cut = listener.CloseClientConnections
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	return source, listener.URL
}

// show opens the page and waits for its nodes.
func show(t testing.TB, address string, width, height int64) *Tab {
	t.Helper()
	b := Open(t, address, width, height)
	b.Visit("/page/")
	b.Until(shown)
	return b
}

const shown = `document.documentElement.dataset.frame`

// twenty returns a demonstration on twenty nodes: the batches of default-scheduler and spazio have
// ended.
func twenty() web.State {
	return web.State{At: now, Title: "20 simulated nodes × 2 cores", Comparable: true, Runs: []web.Run{batch("default-scheduler", 300, 1, 64, 11), batch("spazio", 300, .62, 66, 12)}, Nodes: fleet(20, 1)}
}

// running returns the same while spazio's batch runs and pods wait.
func running() web.State {
	s := twenty()
	r, cut := &s.Runs[1], 27*time.Second
	r.Started, r.Ended = now.Add(-cut), false
	var done []web.Completion
	for _, c := range r.Completions {
		if c.Since <= cut {
			done = append(done, c)
		}
	}
	r.Completions, r.Done, r.Running, r.Starting = done, len(done), 41, 3
	s.WaitingTotal = r.Submitted - r.Done - r.Running - r.Starting
	for i := range s.WaitingTotal {
		s.Waiting = append(s.Waiting, web.Waiting{Namespace: "default", Name: fmt.Sprintf("batch-%d", 300-s.WaitingTotal+i), Profile: "spazio", Since: now.Add(-26*time.Second + time.Duration(i)*70*time.Millisecond),
			Reason: "0/20 nodes are available: 17 have no room (cpu is shortest), 2 are saturated, 1 has no signal"})
	}
	return s
}

// batch returns a run that has ended: pods created within 10 s, whose times lie around a mean that
// grows towards the end of the batch.
func batch(profile string, pods int, pace float64, seconds float64, seed uint64) web.Run {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := web.Run{Profile: profile, Started: now.Add(-3 * time.Minute), Ended: true, Submitted: pods, Total: pods, Done: pods}
	for i := range pods {
		created := 10 * float64(i) / float64(pods)
		at := created + 3 + (seconds-14)*math.Pow(float64(i)/float64(pods), 1/pace)*(.92+.16*rng.Float64())
		r.Completions = append(r.Completions, web.Completion{Since: time.Duration(at * 1e9), Took: time.Duration((at - created) * 1e9)})
	}
	return r
}

// fleet returns nodes of all kinds, some more frequent than others.
func fleet(n int, seed uint64) []web.Node {
	rng := rand.New(rand.NewPCG(seed, 2))
	var nodes []web.Node
	for i := range n {
		node := web.Node{Name: fmt.Sprintf("node-%02d", i), Signal: web.Fresh, Capacity: 8, Running: rng.IntN(9), Limiting: "cpu"}
		if n > 100 {
			node.Name = fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i/2500, i/50%50, 4+i%50*5)
		}
		if rng.IntN(4) == 0 {
			node.Limiting = "memory"
		}
		node.Free = 8 - float64(node.Running) + rng.Float64()
		if rng.IntN(6) == 0 {
			node.Free, node.Capacity = 9.5, 17
		}
		switch k := rng.IntN(100); {
		case i == 13:
			node = web.Node{Name: node.Name, Reason: "no agent has ever reported from it", ByRequests: true}
		case i == 6 || k == 0:
			node.Signal, node.Reason = web.Stale, fmt.Sprintf("no report for %d s", 31+i)
		case i == 17 || k == 1:
			node.Reason = "cordoned"
		case node.Running >= 8 && k < 40:
			node.Saturated, node.Free, node.Reason = true, 0, node.Limiting+" is used up"
		case node.Free < 1:
			node.Reason = "no room: " + node.Limiting + " is shortest"
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// thousands returns a cluster of 5,000 nodes with two profiles that are not compared.
func thousands() web.State {
	s := running()
	s.Title, s.Comparable, s.Nodes = "production", false, fleet(5000, 3)
	for i := range s.Runs {
		r := &s.Runs[i]
		r.Started, r.Ended, r.Total, r.Resolution = now.Add(-3*time.Minute), false, 0, time.Second
		for k := range r.Completions {
			c := &r.Completions[k]
			c.Since, c.Took = c.Since.Truncate(time.Second), c.Took.Truncate(time.Second)
		}
	}
	s.Waiting = s.Waiting[:12]
	s.WaitingTotal = 12
	return s
}

// hostile are names that try to break the page.
var hostile = []string{
	`<img src=x onerror="window.harmed=1">`,
	"\u202etxt.exe\u2066 right to left עברית",
	strings.Repeat("long-", 50) + "253",
}
