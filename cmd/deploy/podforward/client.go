package podforward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Client asks a program for what it shows by HTTP. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	asked string // how errors name it
	http  *http.Client
}

// NewClient returns the Client of a port on a pod's loopback. An answer may take as
// long as timeout; 0 leaves the context's bound. Errors are those of New.
func NewClient(c Config, timeout time.Duration) (*Client, error) {
	through, err := New(c)
	if err != nil {
		return nil, err
	}
	base := &url.URL{Scheme: "http", Host: "localhost:" + strconv.Itoa(c.Port)}
	asked := fmt.Sprintf("port %d in namespace %s", c.Port, c.Namespace)
	return &Client{base: base, asked: asked, http: &http.Client{Transport: through, Timeout: timeout}}, nil
}

// DirectClient returns the Client of a program that this machine reaches by itself,
// at the http or https URL that its paths are below. Errors are *field.Error.
func DirectClient(base string, timeout time.Duration) (*Client, error) {
	at, err := url.Parse(base)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, &field.Error{Package: "podforward", Field: "base", Value: base, Err: fmt.Errorf("%w: want an http or https URL", errInvalid)}
	}
	return &Client{base: at, asked: at.Host, http: &http.Client{Timeout: timeout}}, nil
}

// mostAnswer bounds what is read: some 200 bytes for each channel of a node.
const mostAnswer = 64 << 20

// errTooLong is wrapped for an answer beyond 64 MiB.
var errTooLong = errors.New("the answer is too long")

// StatusError is an answer that is not 200. A plain value.
type StatusError struct {
	// host is what answered: a host and port, or a port in a namespace; status the answer's, as in "404 Not Found", code its number and
	// text what was said.
	host, status string
	code         int
	text         string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered %s: %s", e.host, e.status, e.text)
}

// HTTPStatus is the number of the answer's status.
func (e *StatusError) HTTPStatus() int { return e.code }

// Get returns the answer to a query. One that is not 200 is a *StatusError, which says what
// the program has said.
func (c *Client) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.asked, err)
	}
	response, err := c.http.Do(request)
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		err = asked.Err // the address is added here
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.asked, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	if err == nil && len(text) > mostAnswer {
		err = errTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", c.asked, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &StatusError{c.asked, response.Status, response.StatusCode, strings.TrimSpace(string(text))}
	}
	return text, nil
}

// getter is a Client, or what adds to it; it is safe for concurrent use.
type getter interface {
	Get(ctx context.Context, path string, query url.Values) ([]byte, error)
}

// Decode gets an answer in JSON.
func Decode[T any](ctx context.Context, c getter, path string, query url.Values) (T, error) {
	var answer T
	text, err := c.Get(ctx, path, query)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("the answer to %s: %w", path, err)
	}
	return answer, nil
}
