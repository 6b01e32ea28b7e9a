package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

// description is the part of /openapi.json that this test reads.
type description struct {
	Paths      map[string]map[string]described
	Components struct{ Schemas map[string]any }
}

type described struct {
	RequestBody *struct{ Content map[string]any }
	Responses   map[string]struct {
		Content map[string]struct{ Schema any }
	}
}

// watches reports whether the row is not a plain request and answer.
func (d described) watches() bool { _, ok := d.Responses["101"]; return ok }

func describe(t *testing.T, b *servertest.Bench) description {
	t.Helper()
	var d description
	_, _, body := ask(t, b, "GET", "/external/v1/openapi.json", servertest.Admin, "", nil)
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// ask sends a request to the bench.
func ask(t *testing.T, b *servertest.Bench, method, path, token, body string, header http.Header) (int, http.Header, []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, b.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for name, values := range header {
		if q.Header[name] = values; name == "Host" {
			q.Host = values[0]
		}
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultTransport.RoundTrip(q) // follows nothing
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, data
}

// operation finds the row of a request by its method and path; elements in braces match anything.
func (d description) operation(method, path string) (pattern string, _ described, ok bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	elements := strings.Split(path, "/")
	for pattern, methods := range d.Paths {
		like := strings.Split(pattern, "/")
		if slices.EqualFunc(like, elements, func(p, e string) bool { return p == e || strings.HasPrefix(p, "{") && e != "" }) {
			op, ok := methods[strings.ToLower(method)]
			return pattern, op, ok
		}
	}
	return "", described{}, false
}

// check returns why an answer differs from its description.
func (d description) check(op described, status int, header http.Header, body []byte) error {
	response, ok := op.Responses[strconv.Itoa(status)]
	if !ok {
		return fmt.Errorf("status %d is not described: %.200s", status, body)
	}
	if len(response.Content) == 0 {
		if len(body) > 0 {
			return fmt.Errorf("%d has a body: %.200s", status, body)
		}
		return nil
	}
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	content, ok := response.Content[mediaType]
	if !ok {
		return fmt.Errorf("%d of type %q", status, mediaType)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	if err := d.valid(content.Schema, v); err != nil {
		return fmt.Errorf("%d: %w: %.300s", status, err, body)
	}
	return nil
}

// valid returns why a value does not match the schema. It is stricter than JSON Schema: an
// undescribed field is an error.
func (d description) valid(schema, v any) error {
	s := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		return d.valid(d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")], v)
	}
	if choices, ok := s["oneOf"].([]any); ok {
		var all error
		fits := 0
		for _, one := range choices {
			if err := d.valid(one, v); err != nil {
				all = errors.Join(all, err)
			} else {
				fits++
			}
		}
		if fits == 1 {
			return nil
		}
		return fmt.Errorf("%d of the choices fit: %w", fits, all)
	}
	wrong := fmt.Errorf("%v is no %v", v, s["type"])
	switch s["type"] {
	case "object":
		o, ok := v.(map[string]any)
		if !ok {
			return wrong
		}
		return d.validObject(s, o)
	case "array":
		list, ok := v.([]any)
		if !ok {
			return wrong
		}
		for i, one := range list {
			if err := d.valid(s["items"], one); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case "string":
		text, ok := v.(string)
		if !ok {
			return wrong
		}
		if values, ok := s["enum"].([]any); ok && !slices.Contains(values, v) {
			return fmt.Errorf("%q is none of %v", text, values)
		}
		if s["format"] == "date-time" {
			_, err := time.Parse(time.RFC3339, text)
			return err
		}
	case "integer":
		if n, ok := v.(float64); !ok || n != math.Trunc(n) {
			return wrong
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return wrong
		}
	default:
		return fmt.Errorf("schema of type %v", s["type"])
	}
	return nil
}

func (d description) validObject(s, o map[string]any) error {
	properties, known := s["properties"].(map[string]any)
	if !known {
		return nil // any object
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := o[name.(string)]; !ok {
			return fmt.Errorf("%v is not there", name)
		}
	}
	for name, member := range o {
		if properties[name] == nil {
			return fmt.Errorf("%s is not described", name)
		}
		if err := d.valid(properties[name], member); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// TestDescribedAnswers: every answer of the contract test is as described.
func TestDescribedAnswers(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) { c.SeedPaths, c.DefaultNamespace = true, "team" })
	to := targetOf(b)
	d := describe(t, b)
	var mu sync.Mutex
	seen := 0
	watching := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		b.Server.ServeHTTP(answer, r)
		if _, op, ok := d.operation(r.Method, r.URL.Path); ok {
			mu.Lock()
			defer mu.Unlock()
			seen++
			if err := d.check(op, answer.Code, answer.Header(), answer.Body.Bytes()); err != nil {
				t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
			}
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(watching.Close)
	to.URL = watching.URL
	checkContract(t, to)
	if seen < 400 {
		t.Errorf("%d answers looked at", seen)
	}
}

// moody reviews tokens by Identities, and has two more that make it fail.
type moody struct{ *servertest.Identities }

const unjudged, faulty = "token-unjudged", "token-faulty"

func (m moody) Authenticate(ctx context.Context, token string) (server.Caller, error) {
	switch token {
	case unjudged:
		return server.Caller{}, server.RefuseForNow(http.StatusServiceUnavailable, 1, "Nobody can say.")
	case faulty:
		return server.Caller{}, errors.New("the secret of the server")
	}
	return m.Identities.Authenticate(ctx, token)
}

// TestDescribedRefusals: each described status of a row can occur, and is as described; a refusal
// writes nothing.
func TestDescribedRefusals(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) {
		c.Authenticator, c.Hosts = moody{c.Authenticator.(*servertest.Identities)}, []string{"external.example"}
		c.Limits.Burst, c.Limits.Rate = 100_000, 100_000
	})
	b.Fill()
	tight := servertest.Start(t, func(c *server.Config) { c.Limits.Burst, c.Limits.Rate = 1, 1e-6 })
	ask(t, tight, "GET", "/external/v1/session", servertest.Admin, "", nil)
	const queue = `{"name": "kept", "testbed": "bed", "queue": ["job-a"]}`
	if status, _, body := ask(t, b, "POST", "/external/v1/namespaces/team/schedulings", servertest.Admin, queue, nil); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	before, err := b.Store.Schedulings(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	d := describe(t, b)
	for pattern, methods := range d.Paths {
		for method, op := range methods {
			if op.watches() {
				continue
			}
			for text := range op.Responses {
				status, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				if status < 400 {
					continue // TestDescribedAnswers and TestSuccesses
				}
				r := refusal(pattern, method, status)
				bench := b
				if status == http.StatusTooManyRequests {
					bench = tight
				}
				is, header, body := ask(t, bench, strings.ToUpper(method), r.path, r.token, r.body, r.header)
				if is != status {
					t.Errorf("%s %s: %d, want %d: %s", method, r.path, is, status, body)
				} else if err := d.check(op, status, header, body); err != nil {
					t.Errorf("%s %s: %v", method, r.path, err)
				}
				if retry := header.Get("Retry-After"); (status == 429 || status == 503) != (retry != "") {
					t.Errorf("%s %s: %d with Retry-After %q", method, r.path, status, retry)
				}
				if bytes.Contains(body, []byte("secret")) {
					t.Errorf("%s %s: %s", method, r.path, body)
				}
			}
		}
	}
	after, err := b.Store.Schedulings(t.Context(), "")
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v %v, before %v", err, after, before)
	}
	if job, err := b.Store.Job(t.Context(), "team", "job-a"); err != nil || job.External != nil {
		t.Errorf("%v %s", err, job.External)
	}
}

type asked struct {
	path, token, body string
	header            http.Header
}

// refusal returns a request of the row that gets the status.
func refusal(pattern, method string, status int) asked {
	names := map[string]string{"testbeds": "bed", "jobs": "job-a", "schedulings": "kept"}
	r := asked{token: servertest.Admin, header: http.Header{}}
	namespace, name := "team", ""
	for kind, object := range names {
		if strings.Contains(pattern, "/"+kind) {
			name = object
		}
	}
	session := strings.HasSuffix(pattern, "/session")
	switch {
	case session:
		r.body = `{"token": "` + servertest.Admin + `"}`
	case strings.HasSuffix(pattern, "/external"):
		r.body = `{"written": true}`
	default:
		r.body = `{"name": "kept", "testbed": "bed", "queue": ["job-a"]}`
	}
	switch status {
	case 401:
		r.token = servertest.Unknown
	case 403:
		r.header.Set("Origin", "https://elsewhere.example")
	case 404:
		if name == "" || !strings.Contains(pattern, "{name}") {
			namespace = "Not_A_Name"
		}
		name = "absent"
		r.body = strings.Replace(r.body, "kept", "absent", 1)
	case 409:
		r.body = strings.Replace(r.body, "job-a", "job-b", 1)
	case 412:
		r.header.Set("If-Match", `"999999"`)
	case 413:
		r.body = `{"name": "` + strings.Repeat("x", 1<<20) + `"}`
	case 415:
		r.header.Set("Content-Type", "text/plain")
	case 421:
		r.header.Set("Host", "elsewhere.example")
	case 422:
		r.body = `{"name": "kept"}`
		if strings.HasSuffix(pattern, "/external") {
			r.body = `[]`
		}
		if session {
			r.body = `{"token": "` + strings.Repeat("x", 5000) + `"}`
		}
	case 500:
		r.token = faulty
	case 503:
		r.token = unjudged
	}
	if session && r.token != servertest.Admin {
		r.body = `{"token": "` + r.token + `"}`
	}
	if r.header.Get("Content-Type") == "" {
		r.header.Set("Content-Type", "application/json")
		if method == "patch" {
			r.header.Set("Content-Type", "application/merge-patch+json")
		}
	}
	r.path = strings.NewReplacer("{namespace}", namespace, "{name}", name).Replace(pattern)
	if status == 400 {
		r.path += "?unknown=1"
	}
	return r
}

// TestSuccesses: each described status of success occurs; the contract test covers all others.
func TestSuccesses(t *testing.T) {
	b := servertest.Start(t, nil)
	b.Fill()
	d := describe(t, b)
	in := "/external/v1/namespaces/team"
	scheduling := `{"name": "s", "testbed": "bed", "queue": ["job-a"]}`
	patch := http.Header{"Content-Type": {"application/merge-patch+json"}}
	have := http.Header{"If-None-Match": {"*"}}
	seen := make(map[string]bool)
	for _, r := range []struct {
		method, path, body string
		header             http.Header
		status             int
	}{
		{"GET", "/external/v1/testbeds", "", nil, 200}, {"GET", "/external/v1/jobs", "", nil, 200}, {"GET", "/external/v1/schedulings", "", nil, 200},
		{"GET", in + "/testbeds", "", nil, 200}, {"GET", in + "/jobs", "", nil, 200}, {"GET", in + "/schedulings", "", nil, 200},
		{"GET", in + "/testbeds/bed", "", nil, 200}, {"GET", in + "/testbeds/bed", "", have, 304},
		{"GET", in + "/testbeds/bed/slots", "", nil, 200}, {"GET", in + "/testbeds/bed/slots", "", have, 304},
		{"GET", in + "/jobs/job-a", "", nil, 200}, {"GET", in + "/jobs/job-a", "", have, 304},
		{"PUT", in + "/jobs/job-a/external", "{}", nil, 200}, {"PATCH", in + "/jobs/job-a/external", "{}", patch, 200},
		{"POST", in + "/schedulings", scheduling, nil, 201}, {"POST", in + "/schedulings", scheduling, nil, 200},
		{"GET", in + "/schedulings/s", "", nil, 200}, {"GET", in + "/schedulings/s", "", have, 304},
		{"PUT", in + "/schedulings/s", scheduling, nil, 200}, {"DELETE", in + "/schedulings/s", "", nil, 204},
		{"GET", "/external/v1/overview", "", nil, 200}, {"GET", "/external/v1/openapi.json", "", nil, 200}, {"GET", "/external/v1/openapi.json", "", have, 304},
		{"POST", "/external/v1/session", `{"token": "` + servertest.Admin + `"}`, nil, 200}, {"GET", "/external/v1/session", "", nil, 200},
		{"DELETE", "/external/v1/session", "", nil, 204},
	} {
		status, header, body := ask(t, b, r.method, r.path, servertest.Admin, r.body, r.header)
		if status != r.status {
			t.Errorf("%s %s: %d, want %d: %s", r.method, r.path, status, r.status, body)
		}
		pattern, op, ok := d.operation(r.method, r.path)
		if !ok {
			t.Errorf("%s %s is not described", r.method, r.path)
			continue
		}
		if err := d.check(op, status, header, body); err != nil {
			t.Errorf("%s %s: %v", r.method, r.path, err)
		}
		seen[fmt.Sprint(r.method, pattern, status)] = true
		if r.method == "GET" { // HEAD is GET without the body
			if status, _, body := ask(t, b, "HEAD", r.path, servertest.Admin, "", r.header); status != r.status || len(body) > 0 {
				t.Errorf("HEAD %s: %d %s", r.path, status, body)
			}
		}
	}
	for pattern, methods := range d.Paths {
		for method, op := range methods {
			for text := range op.Responses {
				if status, _ := strconv.Atoi(text); status >= 200 && status < 400 && !seen[fmt.Sprint(strings.ToUpper(method), pattern, status)] && !op.watches() {
					t.Errorf("%s %s: %d is described and was not seen", method, pattern, status)
				}
			}
		}
	}
}
