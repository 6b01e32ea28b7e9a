package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Media types of bodies.
const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

// longest is how much of an answer is read in bytes: an overview of thousands of objects
// stays far below it.
const longest = 256 << 20

// request is what is asked.
type request struct {
	method string
	// path is below /external/v1. Names in it are checked, so that none is more than an
	// element.
	path  []string
	query url.Values
	// version is that at which alone is written, if it is not empty.
	version string
	body    any
	// bodyType is jsonType if it is empty.
	bodyType string
}

// repeatable reports whether the request may be repeated when it is unknown whether it was
// carried out: the second time it changes nothing, or is refused (412).
func (r *request) repeatable() bool {
	return r.method == http.MethodGet || r.method == http.MethodPut && r.version != ""
}

// do makes the request and decodes the answer into v, if that is not nil. It returns the
// answer's status.
func (c *Client) do(ctx context.Context, r request, v any) (int, error) {
	if err := checkNames(r.path); err != nil {
		return 0, err
	}
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return 0, fmt.Errorf("client: %w", err)
		}
	}
	pause := c.config.pause
	for attempt := 1; ; attempt++ {
		status, err := c.once(ctx, &r, body, v)
		wait, again := c.retry(&r, err, pause)
		if !again || attempt >= c.config.Attempts {
			return status, err
		}
		if sleep(ctx, wait) != nil {
			return status, fmt.Errorf("client: %w, after %w", ctx.Err(), err)
		}
		pause = min(2*pause, c.config.maxPause)
	}
}

// sleep returns after so long, or with ctx's error once that ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// checkNames refuses a name that would make another path of it: namespaces/NAMESPACE,
// KIND/NAME.
func checkNames(path []string) error {
	for i, element := range path {
		switch {
		case i == 1 && !wire.ValidNamespace(element):
			return refuse("namespace", element, "a namespace's name")
		case i == 3 && !wire.ValidName(element):
			return refuse("name", element, "an object's name")
		}
	}
	return nil
}

// retry reports whether, and how much later, a request that failed is made again. One that was
// refused as one too many has not been carried out, whatever it was.
func (c *Client) retry(r *request, err error, pause time.Duration) (time.Duration, bool) {
	// Up to half more, so that clients which failed together do not come back together.
	pause += rand.N(pause/2 + 1)
	var p *wire.Problem
	var failed *connectionError
	switch {
	case errors.As(err, &p):
		if p.RetryAfterSeconds > 0 {
			pause = min(time.Duration(p.RetryAfterSeconds)*time.Second, c.config.maxPause)
		}
		switch p.Status {
		case http.StatusTooManyRequests:
			return pause, true
		case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
			return pause, r.repeatable()
		}
		return 0, false
	case errors.As(err, &failed):
		return pause, r.repeatable()
	}
	return 0, false
}

// connectionError is a failure on the way to the server or back.
type connectionError struct{ err error }

func (e *connectionError) Error() string { return "client: " + e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }

// once makes the request one time.
func (c *Client) once(ctx context.Context, r *request, body []byte, v any) (int, error) {
	u := *c.bases[0].JoinPath(append([]string{"external", "v1"}, r.path...)...)
	u.RawQuery = r.query.Encode()
	q, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("client: %w", err)
	}
	if err := c.authorize(ctx, q.Header); err != nil {
		return 0, err
	}
	q.Header.Set("Accept", jsonType)
	if body != nil {
		q.Header.Set("Content-Type", cmp.Or(r.bodyType, jsonType))
	}
	if r.version != "" {
		q.Header.Set("If-Match", `"`+r.version+`"`)
	}
	answer, err := c.config.HTTP.Do(q)
	if err != nil {
		return 0, &connectionError{err}
	}
	defer func() { _ = answer.Body.Close() }() // what was read counts
	data, err := io.ReadAll(io.LimitReader(answer.Body, longest))
	if err != nil {
		return answer.StatusCode, &connectionError{err}
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return answer.StatusCode, problemOf(answer, data)
	}
	if v == nil {
		return answer.StatusCode, nil
	}
	// A newer server may send fields that this client does not know.
	if err := json.Unmarshal(data, v); err != nil {
		return answer.StatusCode, fmt.Errorf("client: answer of %s %s: %w", r.method, u.Path, err)
	}
	return answer.StatusCode, nil
}

// authorize adds the token.
func (c *Client) authorize(ctx context.Context, header http.Header) error {
	if c.config.Token == nil {
		return nil
	}
	token, err := c.config.Token(ctx)
	if err != nil {
		return err
	}
	header.Set("Authorization", "Bearer "+token)
	return nil
}

// problemOf reads the problem that an answer is. Another answer, as of a proxy, becomes a problem
// of its status.
func problemOf(answer *http.Response, data []byte) *wire.Problem {
	p := new(wire.Problem)
	mediaType, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if mediaType != wire.ProblemType || json.Unmarshal(data, p) != nil {
		p = &wire.Problem{Type: "about:blank", Title: http.StatusText(answer.StatusCode)}
	}
	p.Status = answer.StatusCode
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfterSeconds = seconds
	}
	return p
}
