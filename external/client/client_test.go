package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
)

func connect(t testing.TB, url, token string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{URL: url, Token: client.StaticToken(token)}.WithPauses(time.Millisecond, 2*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// must returns the value of a call that must not fail.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestRows: each method returns its row's answer, and its write is in the Store.
func TestRows(t *testing.T) {
	b := servertest.Start(t, nil)
	b.Fill()
	ctx, c := t.Context(), connect(t, b.URL, servertest.Team)

	if beds := must(client.Collect(c.Testbeds(ctx, "team")))(t); len(beds) != 1 || beds[0].Name != "bed" || beds[0].Counts.Free != 4 {
		t.Errorf("%+v", beds)
	}
	if bed := must(c.Testbed(ctx, "team", "bed"))(t); len(bed.Slots) != 4 || bed.Slots[2].ID != "node-1/1" {
		t.Errorf("%+v", bed)
	}
	if slots := must(c.Slots(ctx, "team", "bed"))(t); len(slots) != 4 || slots[3].ID != "node-2/1" {
		t.Errorf("%+v", slots)
	}
	if jobs := must(client.Collect(c.Jobs(ctx, "team")))(t); len(jobs) != 2 || jobs[1].Name != "job-b" {
		t.Errorf("%+v", jobs)
	}

	job := must(c.SetExternal(ctx, "team", "job-a", "", map[string]any{"a": 1, "b": 2}))(t)
	job = must(c.PatchExternal(ctx, "team", "job-a", job.ResourceVersion, map[string]any{"a": nil, "c": []int{3}}))(t)
	stored, err := b.Store.Job(ctx, "team", "job-a")
	if err != nil || string(stored.External) != `{"b":2,"c":[3]}` || string(job.External) != string(stored.External) {
		t.Errorf("%s %v", stored.External, err)
	}
	if read := must(c.Job(ctx, "team", "job-a"))(t); read.ResourceVersion != job.ResourceVersion {
		t.Errorf("%+v", read)
	}

	spec := wire.SchedulingSpec{Testbed: "bed", Queue: []string{"job-a", "job-a", "job-b"}}
	plan := must(c.Plan(ctx, "team", "s", spec))(t)
	want := wire.Plan{Feasible: true, Plan: []wire.Planned{
		{Job: "team/job-a", Slots: []string{"node-1/0", "node-2/0"}, Now: true}, {Job: "team/job-b", Slots: []string{"node-1/1"}, Now: true},
	}}
	if !cmp.Equal(plan, want) {
		t.Error(cmp.Diff(want, plan))
	}
	for i, fresh := range []bool{true, false} {
		is, created, err := c.CreateScheduling(ctx, "team", "s", spec)
		if err != nil || created != fresh || is.Testbed != "team/bed" || is.Author != "team" {
			t.Errorf("%d: %+v %v %v", i, is, created, err)
		}
	}
	spec.Priority = 9
	is := must(c.Scheduling(ctx, "team", "s"))(t)
	is = must(c.ReplaceScheduling(ctx, "team", "s", is.ResourceVersion, spec))(t)
	if all := must(client.Collect(c.Schedulings(ctx, "team")))(t); len(all) != 1 || all[0].Priority != 9 || all[0].ResourceVersion != is.ResourceVersion {
		t.Errorf("%+v", all)
	}
	o := must(c.Overview(ctx, "team"))(t)
	if len(o.Testbeds) != 1 || len(o.Jobs) != 2 || len(o.Schedulings) != 1 {
		t.Errorf("%+v", o)
	}
	if err := c.DeleteScheduling(ctx, "team", "s", is.ResourceVersion); err != nil {
		t.Error(err)
	}
	if all, err := b.Store.Schedulings(ctx, ""); err != nil || len(all) > 0 {
		t.Errorf("%+v %v", all, err)
	}
	if who := must(c.Session(ctx))(t); who.User != "team" {
		t.Errorf("%+v", who)
	}
}

// TestRefused: a refusal of the server is a problem with its status, for every method.
func TestRefused(t *testing.T) {
	b := servertest.Start(t, nil)
	b.Fill()
	ctx := t.Context()
	team, nobody := connect(t, b.URL, servertest.Team), connect(t, b.URL, servertest.Unknown)
	anonymous := must(client.New(client.Config{URL: b.URL}))(t)
	spec := wire.SchedulingSpec{Testbed: "bed", Queue: []string{"job-a"}}
	if _, _, err := team.CreateScheduling(ctx, "team", "s", spec); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what   string
		status int
		field  string
		do     func() error
	}{
		{"a bad token", 401, "", func() error { _, err := nobody.Session(ctx); return err }},
		{"no token", 401, "", func() error { _, err := anonymous.Overview(ctx, ""); return err }},
		{"no right", 403, "", func() error { _, err := client.Collect(team.Jobs(ctx, "")); return err }},
		{"absent", 404, "", func() error { _, err := team.Job(ctx, "team", "absent"); return err }},
		{"another of the name", 409, "", func() error {
			_, _, err := team.CreateScheduling(ctx, "team", "s", wire.SchedulingSpec{Testbed: "other", Queue: []string{"a"}})
			return err
		}},
		{"an old version", 412, "", func() error { return team.DeleteScheduling(ctx, "team", "s", "1") }},
		{"too much", 413, "", func() error {
			_, err := team.SetExternal(ctx, "team", "job-a", "", map[string]any{"a": strings.Repeat("x", 70_000)})
			return err
		}},
		{"no object", 422, "", func() error { _, err := team.SetExternal(ctx, "team", "job-a", "", []int{1}); return err }},
		{"a bad field", 422, "queue[1]", func() error {
			_, err := team.Plan(ctx, "team", "x", wire.SchedulingSpec{Testbed: "bed", Queue: []string{"a", "B"}})
			return err
		}},
	} {
		err := tc.do()
		var p *wire.Problem
		if !errors.As(err, &p) || p.Status != tc.status || p.Title != http.StatusText(tc.status) || p.Detail == "" {
			t.Errorf("%s: %v", tc.what, err)
		} else if tc.field != "" && (len(p.Causes) != 1 || p.Causes[0].Field != tc.field) {
			t.Errorf("%s: %+v", tc.what, p)
		}
	}
}

// TestArgumentsRefused: an argument that is no plain name never reaches the server.
func TestArgumentsRefused(t *testing.T) {
	c := connect(t, "http://127.0.0.1:1", "")
	for _, name := range []string{"", "..", ".", "a/b", "A", "a?b", "%2e%2e", strings.Repeat("a", 254)} {
		_, err := c.Job(t.Context(), "team", name)
		refused(t, err, "name")
		_, err = c.Job(t.Context(), name, "job")
		refused(t, err, "namespace")
		err = c.DeleteScheduling(t.Context(), "team", name, "")
		refused(t, err, "name")
	}
	for _, bad := range []string{"", "host:1", "ftp://host", "http://", "http://host/path", "http://host?x=1", "http://user:pw@host", "http://ho st"} {
		_, err := client.New(client.Config{URL: bad})
		refused(t, err, "URL")
	}
	_, err := client.New(client.Config{URL: "http://host", Attempts: -1})
	refused(t, err, "Attempts")
	if _, err := client.New(client.Config{URL: "https://host:9695/"}); err != nil {
		t.Error(err)
	}
}

func refused(t *testing.T, err error, name string) {
	t.Helper()
	var f *field.Error
	if !errors.As(err, &f) || f.Field != name || !errors.Is(err, client.ErrInvalid) {
		t.Errorf("%s: %v", name, err)
	}
}

// flaky gives the listed answers, one after the other, and then 200.
type flaky struct {
	mu      sync.Mutex
	answers []func(http.ResponseWriter)
	asked   []string
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	f.asked = append(f.asked, r.Method+" "+r.Header.Get("If-Match")+" "+string(body))
	if len(f.answers) > 0 {
		answer := f.answers[0]
		f.answers = f.answers[1:]
		answer(w)
		return
	}
	_, _ = io.WriteString(w, `{}`)
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(code); _, _ = io.WriteString(w, "<html>a proxy</html>") }
}

// cut closes the connection without an answer.
func cut(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// half closes it in the middle of an answer.
func half(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"name":`)
}

// TestRetries: safe requests are repeated with the same body, no others are.
func TestRetries(t *testing.T) {
	read := func(ctx context.Context, c *client.Client) error { _, err := c.Job(ctx, "n", "j"); return err }
	put := func(version string) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			_, err := c.SetExternal(ctx, "n", "j", version, map[string]int{"a": 1})
			return err
		}
	}
	post := func(ctx context.Context, c *client.Client) error {
		_, _, err := c.CreateScheduling(ctx, "n", "s", wire.SchedulingSpec{Testbed: "b", Queue: []string{"j"}})
		return err
	}
	remove := func(ctx context.Context, c *client.Client) error { return c.DeleteScheduling(ctx, "n", "s", "7") }
	for _, tc := range []struct {
		what    string
		answers []func(http.ResponseWriter)
		do      func(context.Context, *client.Client) error
		asked   int
		status  int // of the problem; 0 is none, -1 no problem but an error
	}{
		{"read", nil, read, 1, 0},
		{"read, unavailable", []func(http.ResponseWriter){status(503), status(502), status(504)}, read, 4, 0},
		{"read, cut off", []func(http.ResponseWriter){cut, half}, read, 3, 0},
		{"read, unavailable for good", []func(http.ResponseWriter){status(503), status(503), status(503), status(503), status(503), status(503)}, read, 5, 503},
		{"read, cut off for good", []func(http.ResponseWriter){cut, cut, cut, cut, cut, cut}, read, 5, -1},
		{"read, refused", []func(http.ResponseWriter){status(403)}, read, 1, 403},
		{"read, a fault", []func(http.ResponseWriter){status(500)}, read, 1, 500},
		{"replace at a version", []func(http.ResponseWriter){status(503), cut}, put("7"), 3, 0},
		{"replace at any", []func(http.ResponseWriter){status(503)}, put(""), 1, 503},
		{"replace at any, cut off", []func(http.ResponseWriter){half}, put(""), 1, -1},
		{"replace at any, too many", []func(http.ResponseWriter){status(429), status(429)}, put(""), 3, 0},
		{"create", []func(http.ResponseWriter){status(503)}, post, 1, 503},
		{"create, too many", []func(http.ResponseWriter){status(429)}, post, 2, 0},
		{"delete", []func(http.ResponseWriter){status(503)}, remove, 1, 503},
	} {
		f := &flaky{answers: tc.answers}
		s := httptest.NewServer(f)
		err := tc.do(t.Context(), connect(t, s.URL, "token"))
		s.Close()
		var p *wire.Problem
		switch errors.As(err, &p); {
		case tc.status == 0 && err != nil, tc.status == -1 && (err == nil || p != nil), tc.status > 0 && (p == nil || p.Status != tc.status):
			t.Errorf("%s: %v", tc.what, err)
		}
		if len(f.asked) != tc.asked {
			t.Errorf("%s: asked %d times, want %d", tc.what, len(f.asked), tc.asked)
		}
		for _, asked := range f.asked {
			if asked != f.asked[0] {
				t.Errorf("%s: asked %q, then %q", tc.what, f.asked[0], asked)
			}
		}
	}
}

// TestRetryAfter: the server's delay applies up to the client's own bound, and the caller's context
// ends the wait.
func TestRetryAfter(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(429)
		_, _ = io.WriteString(w, `{"title": "Too Many Requests", "status": 429, "detail": "wait"}`)
	}))
	t.Cleanup(s.Close)
	_, err := connect(t, s.URL, "").Session(t.Context()) // the longest pause is 2 ms
	var p *wire.Problem
	if !errors.As(err, &p) || p.RetryAfterSeconds != 3600 || p.Detail != "wait" || asked.Load() != 5 {
		t.Errorf("%v after %d", err, asked.Load())
	}
	asked.Store(0)
	ctx, cancel := context.WithCancel(t.Context())
	patient := must(client.New(client.Config{URL: s.URL, HTTP: &http.Client{Transport: closing(cancel)}}.WithPauses(0, 2*time.Hour)))(t)
	if _, err := patient.Session(ctx); !errors.Is(err, context.Canceled) || !errors.As(err, &p) || asked.Load() != 1 {
		t.Errorf("%v after %d", err, asked.Load())
	}
}

// closing calls itself when the answer has been read.
type closing func()

func (c closing) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		answer.Body = closedBody{answer.Body, c}
	}
	return answer, err
}

type closedBody struct {
	io.ReadCloser
	closed func()
}

func (b closedBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

// TestPages: all objects come once and in order, however many pages there are; a caller that stops
// early causes no further request, and an error ends the sequence.
func TestPages(t *testing.T) {
	b := servertest.Start(t, nil)
	const many = 1201
	for i := range many {
		b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: fmt.Sprintf("job-%04d", i)}, Kind: "Job", State: "Ready"})
	}
	var asked atomic.Int32
	failAt := int32(0)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == failAt {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		b.Server.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c := connect(t, s.URL, servertest.Team)
	jobs := must(client.Collect(c.Jobs(t.Context(), "team")))(t)
	if len(jobs) != many || asked.Load() != 3 {
		t.Fatalf("%d jobs on %d pages", len(jobs), asked.Load())
	}
	for i, job := range jobs {
		if want := fmt.Sprintf("job-%04d", i); job.Name != want {
			t.Fatalf("%s, want %s", job.Name, want)
		}
	}
	asked.Store(0)
	seen := 0
	for _, err := range c.Jobs(t.Context(), "team") {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 500 {
			break
		}
	}
	if asked.Load() != 1 {
		t.Errorf("%d pages for the first", asked.Load())
	}
	asked.Store(0)
	failAt, seen = 2, 0
	var last error
	for _, err := range c.Jobs(t.Context(), "team") {
		if seen++; err != nil {
			last = err
		}
	}
	var p *wire.Problem
	if seen != 501 || !errors.As(last, &p) || p.Status != http.StatusForbidden {
		t.Errorf("%d, then %v", seen, last)
	}
	if jobs, err := client.Collect(c.Testbeds(t.Context(), "")); jobs != nil || err == nil {
		t.Errorf("%v %v", jobs, err)
	}
}

// TestTokenFile: after a token file changes, the new token is sent.
func TestTokenFile(t *testing.T) {
	b := servertest.Start(t, nil)
	path := filepath.Join(t.TempDir(), "token")
	c := must(client.New(client.Config{URL: b.URL, Token: client.TokenFile(path)}))(t)
	if _, err := c.Session(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	for _, token := range []string{servertest.Viewer, servertest.Team} {
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		who, err := c.Session(t.Context())
		if err != nil || !strings.HasSuffix(token, who.User) {
			t.Errorf("%s: %v %v", token, who, err)
		}
	}
}

// TestNewerServer: unknown fields of an answer are ignored.
func TestNewerServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name": "j", "mood": "good", "externalScheduler": {"a": [1]}}`)
	}))
	t.Cleanup(s.Close)
	job := must(connect(t, s.URL, "").Job(t.Context(), "n", "j"))(t)
	var data map[string][]int
	if err := json.Unmarshal(job.External, &data); err != nil || job.Name != "j" || data["a"][0] != 1 {
		t.Errorf("%+v %v", job, err)
	}
}
