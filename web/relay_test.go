package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/web"
)

// fixedSource is a Source with given answers, of one node and one pod.
type fixedSource struct {
	state web.State
	node  web.Explanation
	pod   web.Timeline
	err   error
}

const node, namespace, pod = `n&?/ "1"`, "a b", `<img src=x onerror=alert(1)>`

func (s fixedSource) State(context.Context) (web.State, error) { return s.state, s.err }

func (s fixedSource) Node(_ context.Context, name string) (web.Explanation, error) {
	if name != node {
		return web.Explanation{}, fmt.Errorf("node %q: %w", name, web.ErrUnknownNode)
	}
	return s.node, nil
}

func (s fixedSource) Pod(_ context.Context, in, name string) (web.Timeline, error) {
	if in != namespace || name != pod {
		return web.Timeline{}, web.ErrUnknownPod
	}
	return s.pod, nil
}

// refused is an answer that is not 200.
type refused struct{ code int }

func (e *refused) Error() string   { return http.StatusText(e.code) }
func (e *refused) HTTPStatus() int { return e.code }

// from returns a client of a server.
func from(t *testing.T, handler http.Handler) func(context.Context, string, url.Values) ([]byte, error) {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return func(ctx context.Context, path string, query url.Values) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path+"?"+query.Encode(), nil)
		if err != nil {
			return nil, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("asked: %w", &refused{response.StatusCode})
		}
		return io.ReadAll(response.Body)
	}
}

// TestRelay: a Source's answers arrive unchanged, whatever names are in them.
func TestRelay(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 8, 7, 6, time.UTC)
	source := fixedSource{
		state: web.State{
			At: at, Title: "a cluster", Comparable: true, WaitingTotal: 7,
			Runs: []web.Run{{Profile: "spazio", Started: at, Ended: true, Submitted: 3, Total: 4, Starting: 1, Running: 1, Done: 1, Failed: 1,
				Resolution: time.Second, Completions: []web.Completion{{Since: time.Minute, Took: time.Second}}}},
			Nodes: []web.Node{
				{Name: node, Signal: web.Stale, Reason: "no report for 1m0s", ByRequests: true, Free: -.5, Capacity: 12, Running: 3, InFlight: 1, Limiting: "cpu", Saturated: true},
				{Name: "unheard"},
			},
			Waiting: []web.Waiting{{Namespace: namespace, Name: pod, Profile: "spazio", Since: at, Reason: `"</script>`}},
		},
		node: web.Explanation{Lines: []string{"one", "two"}, Pods: []web.PodName{{Namespace: namespace, Name: pod}}},
		pod:  web.Timeline{Profile: "spazio", Node: node, Steps: []web.Step{{Name: "created", At: at, Detail: "x"}, {Name: "listed"}}, Lines: []string{"why"}},
	}
	c := web.NewRelayClient(from(t, web.RelayHandler("/debug/x", source)), "/debug/x")
	state, err := c.State(t.Context())
	if diff := cmp.Diff(source.state, state); err != nil || diff != "" {
		t.Errorf("state: %v (-want +got):\n%s", err, diff)
	}
	explanation, err := c.Node(t.Context(), node)
	if diff := cmp.Diff(source.node, explanation); err != nil || diff != "" {
		t.Errorf("node: %v (-want +got):\n%s", err, diff)
	}
	timeline, err := c.Pod(t.Context(), namespace, pod)
	if diff := cmp.Diff(source.pod, timeline); err != nil || diff != "" {
		t.Errorf("pod: %v (-want +got):\n%s", err, diff)
	}
}

// TestErrors: a missing object, an unavailable source and an older program are distinguished.
func TestErrors(t *testing.T) {
	down := errors.New("not yet")
	c := web.NewRelayClient(from(t, web.RelayHandler("/p", fixedSource{err: down})), "/p")
	_, err := c.Node(t.Context(), "other")
	if !errors.Is(err, web.ErrUnknownNode) {
		t.Errorf("an unknown node: %v", err)
	}
	if _, err = c.Pod(t.Context(), namespace, "other"); !errors.Is(err, web.ErrUnknownPod) {
		t.Errorf("an unknown pod: %v", err)
	}
	var status *refused
	if _, err = c.State(t.Context()); !errors.As(err, &status) || status.code != http.StatusServiceUnavailable || strings.Contains(err.Error(), "older version") {
		t.Errorf("a Source that fails: %v", err)
	}
	older := web.NewRelayClient(from(t, http.NotFoundHandler()), "/p")
	if _, err = older.State(t.Context()); !strings.Contains(err.Error(), "older version") {
		t.Errorf("an older program: %v", err)
	}
	torn := web.NewRelayClient(func(context.Context, string, url.Values) ([]byte, error) { return []byte("{"), nil }, "/p")
	if _, err = torn.State(t.Context()); err == nil || !strings.Contains(err.Error(), "/p/state") {
		t.Errorf("a torn answer: %v", err)
	}
}

// TestMethods: only reading is allowed.
func TestMethods(t *testing.T) {
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, http.MethodDelete: 405} {
		w := httptest.NewRecorder()
		web.RelayHandler("/p", fixedSource{}).ServeHTTP(w, httptest.NewRequest(method, "/p/state", nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", method, w.Code, want)
		}
	}
}
