package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/web"
)

func TestConfig(t *testing.T) {
	some := steady(web.State{})
	for _, test := range []struct {
		config web.Config
		want   *field.Error
	}{
		{web.Config{}, &field.Error{Package: "web", Field: "Source", Err: web.ErrInvalid}},
		{web.Config{Source: some}, nil},
		{web.Config{Source: some, Interval: -time.Second}, &field.Error{Package: "web", Field: "Interval", Value: -time.Second, Err: web.ErrInvalid}},
		{web.Config{Source: some, WriteTimeout: -1}, &field.Error{Package: "web", Field: "WriteTimeout", Value: time.Duration(-1), Err: web.ErrInvalid}},
		{web.Config{Source: some, Hosts: []string{"a", "http://b"}}, &field.Error{Package: "web", Field: "Hosts", Value: "http://b", Err: web.ErrInvalid}},
		{web.Config{Source: some, Hosts: []string{""}}, &field.Error{Package: "web", Field: "Hosts", Value: "", Err: web.ErrInvalid}},
	} {
		_, err := web.New(test.config)
		var got *field.Error
		if errors.As(err, &got) != (test.want != nil) {
			t.Errorf("%+v: %v", test.config, err)
		} else if test.want != nil && (got.Field != test.want.Field || got.Value != test.want.Value || !errors.Is(err, web.ErrInvalid)) {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

// request sends a request to a server without a listener.
func request(t testing.TB, c web.Config, method, target string, header map[string]string) *http.Response {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	s, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, target, nil)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

// A request for a foreign host name is refused, because any name may resolve to this address.
func TestHosts(t *testing.T) {
	some := steady(web.State{})
	for _, test := range []struct {
		config web.Config
		hosts  string
		want   int
	}{
		{web.Config{}, "localhost localhost:9694 LOCALHOST:1 localhost. 127.0.0.1 127.0.0.1:9694 127.9.9.9 [::1]:9694 [::1] [::ffff:127.0.0.1]:80", http.StatusOK},
		{web.Config{}, "evil.example evil.example:9694 localhost.evil.example 10.0.0.1 10.0.0.1:9694 [2001:db8::1]:80 0.0.0.0 127.0.0.1.evil.example", http.StatusMisdirectedRequest},
		{web.Config{Hosts: []string{"Spazio.Example", "10.0.0.1"}}, "spazio.example SPAZIO.example:443 10.0.0.1:9694 localhost", http.StatusOK},
		{web.Config{Hosts: []string{"spazio.example"}}, "x.spazio.example spazio.example.evil", http.StatusMisdirectedRequest},
		{web.Config{AnyHost: true}, "evil.example 10.0.0.1:80", http.StatusOK},
	} {
		test.config.Source = some
		for host := range strings.FieldsSeq(test.hosts) {
			for _, path := range []string{"/", "/events", "/node?name=a", "/static/x/page.js"} {
				method := http.MethodHead
				if path == "/node?name=a" && test.want == http.StatusOK {
					continue // it would ask
				}
				if got := request(t, test.config, method, "http://"+host+path, nil).StatusCode; got != test.want {
					t.Errorf("%s%s: %d, want %d", host, path, got, test.want)
				}
			}
		}
	}
}

// FuzzHost: only requests for localhost or a loopback address are served.
func FuzzHost(f *testing.F) {
	for _, host := range []string{"localhost:1", "[::1]:2", "127.0.0.1", "evil", "[::1", "::1", "localhost:evil:1", "", "[localhost]", "127.0.0.1%eth0"} {
		f.Add(host)
	}
	s, err := web.New(web.Config{Source: steady(web.State{}), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	own := regexp.MustCompile(`(?i)^\[?localhost\.?\]?(:[^:]*)?$`)
	f.Fuzz(func(t *testing.T, host string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			return
		}
		if own.MatchString(host) {
			return
		}
		if at := strings.LastIndex(host, ":"); at >= 0 && (strings.HasPrefix(host, "[") && strings.Contains(host, "]:") || strings.Count(host, ":") == 1) {
			host = host[:at]
		}
		address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "."))
		if err != nil || !address.Unmap().IsLoopback() {
			t.Errorf("served as %q", r.Host)
		}
	})
}

func TestWhatIsAsked(t *testing.T) {
	local := "http://localhost"
	for _, test := range []struct {
		method, path string
		header       map[string]string
		want         int
	}{
		{"GET", "/", nil, 200}, {"HEAD", "/", nil, 200}, {"HEAD", "/events", nil, 200},
		{"POST", "/", nil, 405}, {"PUT", "/events", nil, 405}, {"DELETE", "/node?name=a", nil, 405}, {"OPTIONS", "/pod", nil, 405},
		{"GET", "/nowhere", nil, 404}, {"GET", "/static/x/../../source.go", nil, 307}, {"GET", "/static/x/source.go", nil, 404}, {"GET", "/static/x/index.html", nil, 404},
		// A link from another site may open the page; no page of another site may load a part of
		// it.
		{"GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"HEAD", "/events", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403},
		{"HEAD", "/events", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		{"HEAD", "/events", map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 200},
		{"GET", "/static/x/page.js", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, 403},
	} {
		answer := request(t, web.Config{Source: steady(web.State{})}, test.method, local+test.path, test.header)
		if answer.StatusCode != test.want {
			t.Errorf("%s %s %v: %d, want %d", test.method, test.path, test.header, answer.StatusCode, test.want)
		}
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; script-src 'self'; ", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := answer.Header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%s %s: %s is %q", test.method, test.path, name, got)
			}
		}
		if test.want == 405 && answer.Header.Get("Allow") != "GET, HEAD" {
			t.Error(answer.Header)
		}
	}
}

// The page's files are served, cached for ever under their own version; none comes from elsewhere
// or is inline.
func TestPage(t *testing.T) {
	get := func(path string) (string, http.Header) {
		t.Helper()
		answer := request(t, web.Config{Source: steady(web.State{})}, "GET", "http://localhost/"+path, nil)
		data, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 200 {
			t.Fatal(path, answer.Status, err)
		}
		return string(data), answer.Header
	}
	page, header := get("")
	if header.Get("Cache-Control") != "no-store" || header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Error(header)
	}
	if found := regexp.MustCompile(`(?i)\b(style|on[a-z]+)="|<style|<script>|https?:`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
	links := regexp.MustCompile(`(?:href|src)="(static/[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) != 5 {
		t.Error(links)
	}
	seen := make(map[string]bool)
	for len(links) > 0 {
		path := links[0][1]
		links = links[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		text, header := get(path)
		if header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Error(path, header)
		}
		for _, imported := range regexp.MustCompile(`from "\./([^"]*)"`).FindAllStringSubmatch(text, -1) {
			links = append(links, []string{"", path[:strings.LastIndex(path, "/")+1] + imported[1]})
		}
		if _, header := get("static/old" + path[strings.LastIndex(path, "/"):]); header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s of another version is kept: %v", path, header)
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d files: %v", len(seen), seen)
	}
}

// uPlot is npm's 1.6.32, unchanged.
func TestVendored(t *testing.T) {
	for file, want := range map[string]string{
		"uplot.js":          "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f", // dist/uPlot.iife.min.js
		"uplot.css":         "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04", // dist/uPlot.min.css
		"uplot-license.txt": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		data, err := os.ReadFile("static/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s is another: %x", file, sum)
		}
	}
}

// A failing or blocked source is reported beside the former state; nodes and pods are still
// answered, and there is one query at a time.
func TestSourceThatFails(t *testing.T) {
	var mu sync.Mutex
	var err error
	var block chan struct{}
	var at, most atomic.Int64
	c := quiet(source{
		state: func(ctx context.Context) (web.State, error) {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			mu.Lock()
			e, b := err, block
			mu.Unlock()
			if b != nil {
				<-b // as one that doesn't care for ctx
			}
			return web.State{Title: "good", Nodes: []web.Node{{Name: "a"}}}, e
		},
		node: func(context.Context, string) (web.Explanation, error) {
			return web.Explanation{Lines: []string{"fine"}}, nil
		},
	})
	address := start(t, c)
	set := func(e error, b chan struct{}) {
		mu.Lock()
		defer mu.Unlock()
		err, block = e, b
	}
	until := func(r *reader, problem string) {
		t.Helper()
		for r.frame(); !strings.HasPrefix(r.Problem, problem) || problem == "" && r.Problem != ""; r.frame() {
		}
		if *r.Title != "good" || names(r.nodes) != "a" {
			t.Errorf("with %q: %q %+v", r.Problem, *r.Title, r.nodes)
		}
	}
	r, _ := look(t, address)
	until(r, "")
	set(errors.New("<b>broken\x00\xff"), nil)
	until(r, "No answer: <b>broken\x00�")
	later, _ := look(t, address) // a later reader gets the error and the whole state, too
	until(later, "No answer: <b>broken")
	set(nil, nil)
	until(r, "")
	open := make(chan struct{})
	set(nil, open)
	until(r, "No answer for ")
	if answer, err := http.Get(address + "/node?name=a"); err != nil || answer.StatusCode != 200 {
		t.Error(answer, err)
	}
	set(nil, nil)
	close(open)
	until(r, "")
	if most.Load() != 1 {
		t.Errorf("%d questions at a time", most.Load())
	}
}

// A source that never answered is reported, without nodes: a page that had some when it was
// disconnected keeps them.
func TestSourceThatNeverAnswers(t *testing.T) {
	c := quiet(source{state: func(ctx context.Context) (web.State, error) { <-ctx.Done(); return web.State{}, ctx.Err() }})
	r, _ := look(t, start(t, c))
	for r.frame(); !strings.HasPrefix(r.Problem, "No answer for "); r.frame() {
	}
	if r.Count != nil || r.Title != nil || r.At != 0 {
		t.Errorf("%+v", r.event)
	}
}

// The first answer has the whole state, even if there are no nodes.
func TestFirstAnswerAfterNone(t *testing.T) {
	var answers atomic.Bool
	c := quiet(source{state: func(context.Context) (web.State, error) {
		if !answers.Load() {
			return web.State{}, errors.New("it starts")
		}
		return web.State{Title: "t"}, nil
	}})
	r, _ := look(t, start(t, c))
	for r.frame(); r.Problem == ""; r.frame() {
	}
	answers.Store(true)
	if r.first(); r.Count == nil || *r.Count != 0 || *r.Title != "t" || r.Problem != "" {
		t.Errorf("%+v", r.event)
	}
}

// The surrounding server's timeouts are for other answers. On a busy machine a request may come too
// late for short ones, but not for all.
func TestStreamOutlivesTimeouts(t *testing.T) {
	const longest = 16 * time.Second
	for short := 250 * time.Millisecond; !outlives(t, short); short *= 2 {
		if short == longest {
			t.Fatal("the stream ended with the server's timeouts")
		}
	}
}

// outlives reports whether a stream lasts longer than its server's timeouts.
func outlives(t *testing.T, short time.Duration) bool {
	c := quiet(steady(web.State{}))
	c.Interval = 20 * time.Millisecond
	answer, err := http.Get(start(t, c, func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = short, short }) + "/events")
	if err != nil {
		return false
	}
	r := newReader(t, answer.Body)
	defer r.close()
	for begun := time.Now(); time.Since(begun) < 2*short; {
		if !r.next() {
			return false
		}
	}
	return true
}

func TestRunEnds(t *testing.T) {
	s, err := web.New(quiet(steady(web.State{})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	listener := httptest.NewServer(s)
	defer listener.Close()
	r, _ := look(t, listener.URL)
	r.frame()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for r.next() {
	}
	if r.in.Err() != nil {
		t.Error("the stream was cut off: ", r.in.Err())
	}
	late, answer := look(t, listener.URL)
	if answer.StatusCode != 200 || late.next() {
		t.Error(answer.Status)
	}
}

func TestQuestions(t *testing.T) {
	fails := errors.New("broken")
	c := quiet(source{
		node: func(ctx context.Context, name string) (web.Explanation, error) {
			switch name {
			case "slow":
				<-ctx.Done()
				return web.Explanation{}, fmt.Errorf("asking: %w", ctx.Err())
			case "bad":
				return web.Explanation{}, fails
			case "node ä":
				return web.Explanation{Lines: []string{"x < y"}, Pods: []web.PodName{{Namespace: "a", Name: "b"}}}, nil
			}
			return web.Explanation{}, &field.Error{Package: "web", Field: "node", Value: name, Err: web.ErrUnknownNode}
		},
		pod: func(_ context.Context, namespace, name string) (web.Timeline, error) {
			if namespace+name != "ab" {
				return web.Timeline{}, fmt.Errorf("looking: %w", &field.Error{Package: "web", Field: "pod", Value: name, Err: web.ErrUnknownPod})
			}
			return web.Timeline{Node: "n", Steps: []web.Step{{Name: "created", At: time.Unix(5, 0).UTC(), Detail: "d"}}}, nil
		},
	})
	web.SetAskTimeout(&c, 50*time.Millisecond)
	for _, test := range []struct {
		path string
		code int
		want string
	}{
		{"/node?name=" + url.QueryEscape("node ä"), 200, `{"lines":["x \u003c y"],"pods":[{"namespace":"a","name":"b"}]}`},
		{"/node?name=z", 404, `{"field":"node","value":"z","error":"web: node = z: there is no such node"}`},
		{"/node", 404, `{"field":"node","error":"web: node = \"\": there is no such node"}`},
		{"/node?name=bad", 502, `{"field":"node","value":"bad","error":"broken"}`},
		{"/node?name=slow", 504, `{"field":"node","value":"slow","error":"asking: context deadline exceeded"}`},
		{"/pod?namespace=a&name=b", 200, `{"node":"n","steps":[{"name":"created","at":"1970-01-01T00:00:05Z","detail":"d"}]}`},
		{"/pod?namespace=a&name=c", 404, `{"field":"pod","value":"a/c","error":"looking: web: pod = c: there is no such pod"}`},
	} {
		answer := request(t, c, "GET", "http://localhost"+test.path, nil)
		data, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(data)); answer.StatusCode != test.code || diff != "" || answer.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v\n%s", test.path, answer.StatusCode, answer.Header, diff)
		}
	}
}

// A request's body is not read, let alone stored.
func TestQuestionWithBody(t *testing.T) {
	c := quiet(source{node: func(_ context.Context, name string) (web.Explanation, error) {
		return web.Explanation{Lines: []string{name}}, nil
	}})
	s, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nbody\r\n--b--\r\n")
	size := body.Len()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/node?name=query", body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Body.String() != `{"lines":["query"]}` || body.Len() != size {
		t.Errorf("%s; %d bytes of %d are left", w.Body, body.Len(), size)
	}
}

// Of many concurrent queries a few reach the source, and the others time out.
func TestManyQuestions(t *testing.T) {
	var at, most atomic.Int64
	open, in := make(chan struct{}), make(chan struct{}, 20)
	c := quiet(source{node: func(context.Context, string) (web.Explanation, error) {
		n := at.Add(1)
		defer at.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		in <- struct{}{}
		<-open
		return web.Explanation{}, nil
	}})
	web.SetAskTimeout(&c, 200*time.Millisecond)
	address := start(t, c)
	codes := make(chan int, 20)
	for range 20 {
		go func() {
			answer, err := http.Get(address + "/node?name=a")
			if err != nil {
				codes <- 0
				return
			}
			answer.Body.Close()
			codes <- answer.StatusCode
		}()
	}
	got := make(map[int]int)
	for range 12 {
		got[<-codes]++
	}
	close(open)
	for range 8 {
		got[<-codes]++
	}
	if diff := cmp.Diff(map[int]int{200: 8, 503: 12}, got); diff != "" || most.Load() != 8 {
		t.Errorf("%d at a time: %s", most.Load(), diff)
	}
}
