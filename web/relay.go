package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

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

// RelayGet asks a program for what it shows at a path and returns its answer. The error of an
// answer that is not 200 has, or wraps what has, a method HTTPStatus() int. It is called
// concurrently.
type RelayGet func(ctx context.Context, path string, query url.Values) ([]byte, error)

// RelayClient is the Source behind a RelayHandler. Safe for concurrent use.
type RelayClient struct {
	get  RelayGet
	path string
}

var _ Source = (*RelayClient)(nil)

// errNoPage is wrapped by State's error for a program that serves no RelayHandler at the path.
var errNoPage = errors.New("it shows nothing for a page there: is it of an older version?")

// NewRelayClient returns the Source of the RelayHandler that is served at the path.
func NewRelayClient(get RelayGet, path string) *RelayClient {
	return &RelayClient{get: get, path: path}
}

// State is everything, as the program last had it.
func (c *RelayClient) State(ctx context.Context) (State, error) {
	return fetch[State](ctx, c, statePath, nil, errNoPage)
}

// Node explains why a node is as it is.
func (c *RelayClient) Node(ctx context.Context, name string) (Explanation, error) {
	return fetch[Explanation](ctx, c, nodePath, url.Values{"name": {name}}, ErrUnknownNode)
}

// Pod is what has happened to a pod.
func (c *RelayClient) Pod(ctx context.Context, namespace, name string) (Timeline, error) {
	return fetch[Timeline](ctx, c, podPath, url.Values{"namespace": {namespace}, "name": {name}}, ErrUnknownPod)
}

// fetch returns an answer, or an error that wraps missing if there is no such thing.
func fetch[T any](ctx context.Context, c *RelayClient, path string, query url.Values, missing error) (T, error) {
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
