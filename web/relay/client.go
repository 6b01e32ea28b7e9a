package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spazio-scheduler/spazio/web"
)

// Get asks a program for what it shows at a path and returns its answer. The error of an
// answer that is not 200 has, or wraps what has, a method HTTPStatus() int. It is called
// concurrently.
type Get func(ctx context.Context, path string, query url.Values) ([]byte, error)

// client is the Source behind a Handler. Safe for concurrent use.
type client struct {
	get  Get
	path string
}

var _ web.Source = (*client)(nil)

// errNoPage is wrapped by State's error for a program that serves no Handler at the path.
var errNoPage = errors.New("it shows nothing for a page there: is it of an older version?")

// NewClient returns the Source of the Handler that is served at the path.
func NewClient(get Get, path string) *client { return &client{get: get, path: path} }

// State is everything, as the program last had it.
func (c *client) State(ctx context.Context) (web.State, error) {
	return ask[web.State](ctx, c, statePath, nil, errNoPage)
}

// Node explains why a node is as it is.
func (c *client) Node(ctx context.Context, name string) (web.Explanation, error) {
	return ask[web.Explanation](ctx, c, nodePath, url.Values{"name": {name}}, web.ErrUnknownNode)
}

// Pod is what has happened to a pod.
func (c *client) Pod(ctx context.Context, namespace, name string) (web.Timeline, error) {
	return ask[web.Timeline](ctx, c, podPath, url.Values{"namespace": {namespace}, "name": {name}}, web.ErrUnknownPod)
}

// ask returns an answer, or an error that wraps missing if there is no such thing.
func ask[T any](ctx context.Context, c *client, path string, query url.Values, missing error) (T, error) {
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
