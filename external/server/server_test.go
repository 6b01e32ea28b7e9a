package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
)

// An invalid configuration is refused with the field's name.
func TestConfigRefused(t *testing.T) {
	good := func() server.Config {
		return server.Config{Store: servertest.NewStore(), Authenticator: servertest.Callers(), Authorizer: servertest.Callers()}
	}
	registered := prometheus.NewRegistry()
	taken := good()
	taken.Registerer = registered
	if _, err := server.New(taken); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		edit func(*server.Config)
	}{
		{"Store", func(c *server.Config) { c.Store = nil }},
		{"Authenticator", func(c *server.Config) { c.Authenticator = nil }},
		{"Authorizer", func(c *server.Config) { c.Authorizer = nil }},
		{"DefaultNamespace", func(c *server.Config) { c.DefaultNamespace = "Not_A_Name" }},
		{"Hosts", func(c *server.Config) { c.Hosts = []string{"a.example", "b.example:80"} }},
		{"Registerer", func(c *server.Config) { c.Registerer = registered }},
		{"Limits.Burst", func(c *server.Config) { c.Limits.Burst = -1 }},
		{"Limits.Rate", func(c *server.Config) { c.Limits.Rate = -1 }},
		{"Limits.Timeout", func(c *server.Config) { c.Limits.Timeout = -1 }},
		{"Watch.Ping", func(c *server.Config) { c.Watch.Ping = -1 }},
	} {
		config := good()
		tc.edit(&config)
		_, err := server.New(config)
		var name *field.Error
		if !errors.As(err, &name) || name.Field != tc.name || !errors.Is(err, server.ErrInvalid) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// faults is a Store that fails in a different way for some jobs.
type faults struct{ *servertest.Store }

func (f faults) Job(ctx context.Context, namespace, name string) (wire.Job, error) {
	switch name {
	case "panics":
		panic("secret: the store broke")
	case "fails":
		return wire.Job{}, errors.New("secret: connection refused")
	case "begins": // an answer that cannot be written is found when it has begun
		return wire.Job{Meta: wire.Meta{ResourceVersion: "1"}, External: json.RawMessage(`{`)}, nil
	case "waits":
		<-ctx.Done()
		return wire.Job{}, ctx.Err()
	}
	return f.Store.Job(ctx, namespace, name)
}

// A fault of the server is an answer of status 500 without details, and is logged and counted; the
// server continues.
func TestFaults(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	b := servertest.Start(t, func(c *server.Config) {
		c.Store = faults{c.Store.(*servertest.Store)}
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Registerer = registry
		c.Limits.Timeout = 500 * time.Millisecond
	})
	for name, want := range map[string]int{"panics": 500, "fails": 500, "begins": 500, "waits": 503} {
		status, header, body := ask(t, b, "GET", "/external/v1/namespaces/team/jobs/"+name, servertest.Admin, "", nil)
		if status != want || header.Get("Content-Type") != wire.ProblemType || bytes.Contains(body, []byte("secret")) || header.Get("ETag") != "" {
			t.Errorf("%s: %d %v %s", name, status, header, body)
		}
	}
	if status, _, _ := ask(t, b, "GET", "/external/v1/session", servertest.Admin, "", nil); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
	if got, want := counted(t, registry), map[string]float64{"500": 3, "503": 1, "200": 1}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	for _, text := range []string{"the store broke", "connection refused", "stack=", "level=ERROR", "caller=admin"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("no %q in the log:\n%s", text, log.String())
		}
	}
	if strings.Contains(log.String(), servertest.Admin) {
		t.Errorf("a token is in the log:\n%s", log.String())
	}
}

func counted(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	by := make(map[string]float64)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "spazio_testbed_requests_total" {
				by[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return by
}

// A handler that panics in the middle of an answer closes the connection, so that no client takes
// the part for the whole.
func TestPanicInTheMiddle(t *testing.T) {
	registry := prometheus.NewRegistry()
	b := servertest.Start(t, func(c *server.Config) {
		c.Registerer = registry
		c.UI = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "half")
				_ = http.NewResponseController(w).Flush()
				panic("in the middle")
			})
		}
	})
	response, err := http.Get(b.URL + "/ui/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("a whole answer: %q", body)
	}
	if got := counted(t, registry); got["500"] != 1 {
		t.Errorf("counted %v", got)
	}
}

// A caller that never ends its request is not waited for.
func TestSlowBody(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) { c.Limits.Timeout = 200 * time.Millisecond })
	b.Fill()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "PUT /external/v1/namespaces/team/jobs/job-a/external HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\": 1}", servertest.Admin)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn) // to the end of the connection
	if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 ")) {
		t.Errorf("%v: %s", err, answer)
	}
	if job, err := b.Store.Job(t.Context(), "team", "job-a"); err != nil || job.External != nil {
		t.Errorf("%v: %s", err, job.External)
	}
}

// Each caller has its own limits.
func TestRate(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) { c.Limits.Rate, c.Limits.Burst = .001, 3 })
	var statuses []int
	for range 4 {
		status, header, _ := ask(t, b, "GET", "/external/v1/session", servertest.Team, "", nil)
		statuses = append(statuses, status)
		if seconds, _ := strconv.Atoi(header.Get("Retry-After")); status == 429 && (seconds < 900 || seconds > 1000) {
			t.Errorf("Retry-After: %d", seconds)
		}
	}
	if want := []int{200, 200, 200, 429}; !cmp.Equal(statuses, want) {
		t.Errorf("%v, want %v", statuses, want)
	}
	if status, _, _ := ask(t, b, "GET", "/external/v1/session", servertest.Viewer, "", nil); status != 200 {
		t.Errorf("another caller: %d", status)
	}
}

// Until the caches are filled, requests that need them are refused, and nothing is written.
func TestUnsynced(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) { c.SeedPaths, c.DefaultNamespace = true, "team" })
	b.Fill()
	b.Store.SetSynced(false)
	d := describe(t, b)
	paths := map[string][]string{
		"/external/testbeds": {"get"}, "/external/testbeds/bed": {"get"}, "/external/jobs": {"get", "put"}, "/external/jobs/job-a": {"get"},
		"/external/schedulings": {"get", "post"}, "/external/schedulings/kept": {"get", "delete"},
	}
	for pattern, methods := range d.Paths {
		for method, op := range methods {
			if !op.watches() && !strings.HasSuffix(pattern, "/session") && !strings.HasSuffix(pattern, ".json") {
				paths[pattern] = append(paths[pattern], method)
			}
		}
	}
	for pattern, methods := range paths {
		for _, method := range methods {
			r := refusal(pattern, method, 0)
			if strings.HasPrefix(pattern, "/external/jobs") {
				r.body = `{"name": "job-a"}`
			}
			if status, header, body := ask(t, b, strings.ToUpper(method), r.path, r.token, r.body, r.header); status != 503 || header.Get("Retry-After") != "1" {
				t.Errorf("%s %s: %d %s", method, r.path, status, body)
			}
		}
	}
	b.Store.SetSynced(true)
	if all, err := b.Store.Schedulings(t.Context(), ""); err != nil || len(all) > 0 {
		t.Errorf("%v %v", all, err)
	}
}

// Requests are accepted only under the server's names and from its own pages.
func TestSources(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) {
		c.Hosts = []string{"External.Example"}
	})
	for _, tc := range []struct {
		name, value string
		method      string
		status      int
	}{
		{"Host", "external.example", "GET", 200},
		{"Host", "EXTERNAL.example:9695", "GET", 200},
		{"Host", "external.example.", "GET", 200},
		{"Host", "localhost:9695", "GET", 200},
		{"Host", "[::1]:9695", "GET", 200},
		{"Host", "127.0.0.1", "GET", 200},
		{"Host", "elsewhere.example", "GET", 421},
		{"Host", "external.example.elsewhere.example", "GET", 421},
		{"Host", "1.2.3.4.elsewhere.example", "GET", 421},
		{"Origin", b.URL, "GET", 200},
		{"Origin", b.URL, "DELETE", 204},
		{"Origin", "null", "GET", 403},
		{"Origin", "%", "GET", 403},
		{"Origin", "https://elsewhere.example", "GET", 403},
		{"Sec-Fetch-Site", "same-origin", "DELETE", 204},
		{"Sec-Fetch-Site", "none", "DELETE", 204},
		{"Sec-Fetch-Site", "same-site", "DELETE", 403},
		{"Sec-Fetch-Site", "cross-site", "DELETE", 403},
	} {
		header := http.Header{tc.name: {tc.value}}
		if status, _, body := ask(t, b, tc.method, "/external/v1/session", servertest.Admin, "", header); status != tc.status {
			t.Errorf("%s %s: %s: %d, want %d: %s", tc.method, tc.name, tc.value, status, tc.status, body)
		}
	}
}

// No answer may be framed, sniffed, cached by a proxy or read by a page of another origin.
func TestHeaders(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) {
		c.UI = func(http.Handler) http.Handler { return http.NotFoundHandler() }
	})
	b.Fill()
	for _, path := range []string{"/external/v1/jobs", "/external/v1/namespaces/team/jobs/job-a", "/external/v1/absent", "/absent", "/ui/absent", "/external/v1/openapi.json"} {
		_, header, _ := ask(t, b, "GET", path, servertest.Admin, "", nil)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", path, name, got, want)
			}
		}
		policy, cache := header.Get("Content-Security-Policy"), header.Get("Cache-Control")
		source := "'none'"
		if strings.HasPrefix(path, "/ui/") {
			source = "'self'"
		}
		if !strings.HasPrefix(policy, "default-src "+source+";") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %s", path, policy)
		}
		if cache != "no-store" && cache != "private, no-cache" {
			t.Errorf("%s: Cache-Control %s", path, cache)
		}
	}
	if status, header, _ := ask(t, b, "GET", "/", "", "", nil); status != http.StatusFound || header.Get("Location") != "/ui/" {
		t.Errorf("/: %d %v", status, header)
	}
}

// A page's handler calls the interface with the page's session.
func TestUIAsksInProcess(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) {
		c.UI = func(api http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := httptest.NewRequestWithContext(r.Context(), "GET", "/external/v1/session", nil)
				q.Header["Cookie"] = r.Header["Cookie"]
				api.ServeHTTP(w, q)
			})
		}
	})
	_, header, _ := ask(t, b, "POST", "/external/v1/session", "", `{"token": "`+servertest.Viewer+`"}`, nil)
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	status, _, body := ask(t, b, "GET", "/ui/", "", "", http.Header{"Cookie": {cookie}})
	if status != 200 || !strings.Contains(string(body), `"user":"viewer"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := ask(t, b, "GET", "/ui/", "", "", nil); status != 401 {
		t.Errorf("without a session: %d", status)
	}
}

// A session is valid on every replica, and ends with its token.
func TestSessionOnAnotherReplica(t *testing.T) {
	one := servertest.Start(t, nil)
	two := servertest.Start(t, nil)
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	for _, b := range []*servertest.Bench{one, two} {
		b.Identities.Add("token-of-a-day", servertest.Audience, server.Caller{Name: "day", Expires: ends}, servertest.View("")...)
	}
	_, header, body := ask(t, one, "POST", "/external/v1/session", "", `{"token": "token-of-a-day"}`, nil)
	cookie, err := http.ParseSetCookie(header.Get("Set-Cookie"))
	if err != nil || !cookie.Expires.Equal(ends) {
		t.Fatalf("%v %v %s", cookie, err, body)
	}
	var session wire.Session
	if err := json.Unmarshal(body, &session); err != nil || session.User != "day" || !session.Expires.Equal(ends) {
		t.Errorf("%s %v", body, err)
	}
	shown := http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}
	if status, _, body := ask(t, two, "GET", "/external/v1/jobs", "", "", shown); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	two.Identities.Revoke("token-of-a-day")
	if status, _, _ := ask(t, two, "GET", "/external/v1/jobs", "", "", shown); status != 401 {
		t.Errorf("after the token's end: %d", status)
	}
}

// An existing object is shown only to callers who may see it, even if they send the same one.
func TestCreateTellsNothing(t *testing.T) {
	b := servertest.Start(t, nil)
	b.Fill()
	b.Identities.Add("token-of-writer", servertest.Audience, server.Caller{Name: "writer"},
		servertest.Right{Verbs: []server.Verb{server.Create}, Kinds: []wire.Kind{wire.Schedulings}})
	const body = `{"name": "s", "testbed": "bed", "queue": ["job-a"]}`
	path := "/external/v1/namespaces/team/schedulings"
	for i, want := range []int{201, 409} {
		if status, _, body := ask(t, b, "POST", path, "token-of-writer", body, nil); status != want {
			t.Errorf("%d: %d, want %d: %s", i, status, want, body)
		}
	}
	// The same request for a deleted one makes another object.
	o, _ := b.Store.Scheduling(t.Context(), "team", "s")
	o.Deleting = true
	b.Store.PutScheduling(o)
	if status, _, body := ask(t, b, "POST", path, servertest.Admin, body, nil); status != 409 {
		t.Errorf("%d: %s", status, body)
	}
}

// Concurrent writes succeed once each, and every answer is a valid one. The race detector checks
// it, too.
func TestConcurrentWriters(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) { c.Limits.Rate, c.Limits.Burst = 1e6, 1_000_000 })
	b.Fill()
	const writers = 8
	var wg sync.WaitGroup
	created := make(chan int, writers)
	for i := range writers {
		wg.Go(func() {
			status, _, _ := ask(t, b, "POST", "/external/v1/namespaces/team/schedulings", servertest.Admin, `{"name": "s", "testbed": "bed", "queue": ["job-a"]}`, nil)
			created <- status
			// Each adds its own member: a merge loses none.
			for { // until no other client has written meanwhile
				_, header, _ := ask(t, b, "GET", "/external/v1/namespaces/team/jobs/job-a", servertest.Admin, "", nil)
				status, _, _ := ask(t, b, "PATCH", "/external/v1/namespaces/team/jobs/job-a/external", servertest.Admin, fmt.Sprintf(`{"w%d": %d}`, i, i),
					http.Header{"Content-Type": {"application/merge-patch+json"}, "If-Match": {header.Get("ETag")}})
				if status == 200 {
					return
				}
				if status != 412 {
					t.Errorf("status %d", status)
					return
				}
			}
		})
	}
	wg.Wait()
	close(created)
	by := make(map[int]int)
	for status := range created {
		by[status]++
	}
	if by[201] != 1 || by[200] != writers-1 {
		t.Errorf("by status: %v", by)
	}
	job, _ := b.Store.Job(t.Context(), "team", "job-a")
	var data map[string]int
	if err := json.Unmarshal(job.External, &data); err != nil || len(data) != writers {
		t.Errorf("%s %v", job.External, err)
	}
}
