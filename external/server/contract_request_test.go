package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// mergePatch is the type of bodies of PATCH.
const mergePatch = "application/merge-patch+json"

// request is one to the interface.
type request struct {
	method, path, token, body string
	// kind is the body's type, JSON if it is empty.
	kind   string
	header http.Header
}

// answer is what was answered; json is the body, if it is JSON.
type answer struct {
	request request
	status  int
	header  http.Header
	body    []byte
	json    any
}

// do makes a request. After status 429 it waits as long as the server demands.
func (c *contract) do(t *testing.T, r request) *answer {
	t.Helper()
	for {
		q, err := http.NewRequestWithContext(t.Context(), r.method, c.URL+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range r.header {
			q.Header[name] = values
		}
		if r.token != "" {
			q.Header.Set("Authorization", "Bearer "+r.token)
		}
		if r.body != "" || r.method == http.MethodPut || r.method == http.MethodPost || r.method == http.MethodPatch {
			q.Header.Set("Content-Type", "application/json")
		}
		if r.kind != "" {
			q.Header.Set("Content-Type", r.kind)
		}
		response, err := c.HTTP.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		a := &answer{request: r, status: response.StatusCode, header: response.Header, body: body}
		if len(body) > 0 && json.Unmarshal(body, &a.json) != nil {
			t.Fatalf("%s %s: %d, no JSON: %.300s", r.method, r.path, a.status, body)
		}
		if a.status != http.StatusTooManyRequests {
			return a
		}
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			t.Fatalf("429 with Retry-After %q", response.Header.Get("Retry-After"))
		}
		select {
		case <-t.Context().Done():
		case <-time.After(time.Duration(seconds) * time.Second):
		}
	}
}

func (c *contract) get(t *testing.T, token, path string) *answer {
	t.Helper()
	return c.do(t, request{method: http.MethodGet, path: path, token: token})
}

func (c *contract) post(t *testing.T, token, path, body string) *answer {
	t.Helper()
	return c.do(t, request{method: http.MethodPost, path: path, token: token, body: body})
}

func (c *contract) put(t *testing.T, token, path, body string) *answer {
	t.Helper()
	return c.do(t, request{method: http.MethodPut, path: path, token: token, body: body})
}

func (c *contract) patch(t *testing.T, token, path, body string) *answer {
	t.Helper()
	return c.do(t, request{method: http.MethodPatch, path: path, token: token, body: body, kind: mergePatch})
}

func (c *contract) delete(t *testing.T, token, path string) *answer {
	t.Helper()
	return c.do(t, request{method: http.MethodDelete, path: path, token: token})
}

// remove deletes a scheduling and waits until it is gone.
func (c *contract) remove(t *testing.T, name string) {
	t.Helper()
	path := c.in + "/schedulings/" + name
	c.delete(t, c.Admin, path).want(t, http.StatusNoContent)
	until(t, func() bool { return c.get(t, c.Admin, path).status == http.StatusNotFound })
}

// until waits until it is so, shortly before the whole run's time is up at the latest: then
// it says where it waited.
func until(t *testing.T, so func() bool) {
	t.Helper()
	const rest = 10 * time.Second
	for !so() {
		if deadline, ok := t.Deadline(); ok && time.Until(deadline) < rest {
			t.Fatal("it does not come about")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// want is the answer, which must be of the status.
func (a *answer) want(t *testing.T, status int) *answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("%s %s: %d, want %d: %.600s", a.request.method, a.request.path, a.status, status, a.body)
	}
	return a
}

// wrongIf fails the test with the answer, if that is wrong.
func (a *answer) wrongIf(t *testing.T, wrong bool) {
	t.Helper()
	if wrong {
		t.Errorf("%s %s: %d, ETag %s, Location %s: %s", a.request.method, a.request.path, a.status, a.header.Get("ETag"), a.header.Get("Location"), a.body)
	}
}

// refused is the answer, which must be a problem of the status whose detail has the words.
func (a *answer) refused(t *testing.T, status int, words ...string) *answer {
	t.Helper()
	what := a.request.method + " " + a.request.path
	if a.want(t, status); a.header.Get("Content-Type") != "application/problem+json" || a.at("status") != float64(status) || a.text("title") != http.StatusText(status) {
		t.Errorf("%s: %s %s", what, a.header.Get("Content-Type"), a.body)
	}
	for _, word := range words {
		if !strings.Contains(a.text("detail"), word) {
			t.Errorf("%s: no %q in %s", what, word, a.body)
		}
	}
	if status == http.StatusUnauthorized && !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("%s: WWW-Authenticate %q", what, a.header.Get("WWW-Authenticate"))
	}
	if token := a.request.token; token != "" && bytes.Contains(a.body, []byte(token)) {
		t.Errorf("%s: the token is in %s", what, a.body)
	}
	return a
}

// names checks that a cause of the problem is the field, if it is not empty.
func (a *answer) names(t *testing.T, field string) {
	t.Helper()
	causes, _ := a.at("causes").([]any)
	if field != "" && !slices.ContainsFunc(causes, func(c any) bool { return c.(map[string]any)["field"] == field }) {
		t.Errorf("%s %s: no cause is of %s: %s", a.request.method, a.request.path, field, a.body)
	}
}

// at returns the value at the path in the JSON, nil if there is none.
func (a *answer) at(path ...string) any {
	v := a.json
	for _, element := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[element]
		case []any:
			i, err := strconv.Atoi(element)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// text is at of what is text.
func (a *answer) text(path ...string) string {
	text, _ := a.at(path...).(string)
	return text
}

// is reports whether what is at the path is the JSON, keys in order and without blanks.
func (a *answer) is(t *testing.T, want string, path ...string) bool {
	t.Helper()
	return encode(t, a.at(path...)) == want
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// find is the object of that name in a list; there must be one.
func find(t *testing.T, list any, namespace, name string) map[string]any {
	t.Helper()
	objects, _ := list.([]any)
	for _, one := range objects {
		if o, _ := one.(map[string]any); o["namespace"] == namespace && o["name"] == name {
			return o
		}
	}
	t.Fatalf("no %s/%s in %v", namespace, name, list)
	return nil
}
