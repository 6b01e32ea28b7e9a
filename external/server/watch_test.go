package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// watcher is a client of the watch, as near to the wire as possible.
type watcher struct {
	t    *testing.T
	conn *websocket.Conn
}

func dial(ctx context.Context, url string, header http.Header, protocols ...string) (*websocket.Conn, *http.Response, error) {
	if protocols == nil {
		protocols = []string{wire.Subprotocol}
	}
	return websocket.Dial(ctx, url+"/external/v1/watch", &websocket.DialOptions{HTTPHeader: header, Subprotocols: protocols})
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func watch(t *testing.T, b *servertest.Bench, token string) *watcher {
	t.Helper()
	conn, _, err := dial(t.Context(), b.URL, bearer(token))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(-1)
	return &watcher{t: t, conn: conn}
}

func (w *watcher) say(text string) {
	w.t.Helper()
	if err := w.conn.Write(w.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watcher) ask(r wire.Request) {
	w.t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.say(string(data))
}

// next returns the next message except bookmarks, whose cursor it keeps.
func (w *watcher) next() wire.Message {
	w.t.Helper()
	for {
		if m := w.any(); m.Type != wire.Bookmark {
			return m
		}
	}
}

func (w *watcher) any() wire.Message {
	w.t.Helper()
	_, data, err := w.conn.Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var m wire.Message
	if err := json.Unmarshal(data, &m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// closed returns the code with which the server closes.
func (w *watcher) closed() websocket.StatusCode {
	for {
		if _, _, err := w.conn.Read(w.t.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// brief formats a message as a line: its objects' kinds and names, its events with their types.
func brief(m wire.Message) string {
	words := []string{m.Type}
	if m.ID != "" {
		words = append(words, m.ID)
	}
	name := func(o wire.Object) string {
		var meta wire.Meta
		_ = json.Unmarshal(o.Object, &meta)
		return fmt.Sprintf("%s %s/%s", o.Kind, meta.Namespace, meta.Name)
	}
	for _, o := range m.Objects {
		words = append(words, name(o))
	}
	for _, e := range m.Events {
		words = append(words, e.Type+" "+name(e.Object))
	}
	if m.Problem != nil {
		words = append(words, fmt.Sprint(m.Problem.Status))
		for _, c := range m.Problem.Causes {
			words = append(words, c.Field)
		}
	}
	if m.More {
		words = append(words, "more")
	}
	return strings.Join(words, " ")
}

func (w *watcher) expect(want string) wire.Message {
	w.t.Helper()
	m := w.next()
	if got := brief(m); got != want {
		w.t.Fatalf("got %q, want %q (%+v)", got, want, m)
	}
	return m
}

func job(namespace, name string) wire.Job {
	return wire.Job{Meta: wire.Meta{Namespace: namespace, Name: name}, Kind: "Job", State: "Ready"}
}

func inState(j wire.Job, state string) wire.Job {
	j.State = state
	return j
}

// filled fills the Store before it is followed; otherwise a snapshot may come first.
func filled(fill func(*servertest.Store)) func(*server.Config) {
	return func(c *server.Config) { fill(c.Store.(*servertest.Store)) }
}

func TestWatch(t *testing.T) {
	b := servertest.Start(t, filled(func(s *servertest.Store) {
		s.PutJob(job("a", "one"))
		s.PutJob(job("b", "two"))
	}))
	w := watch(t, b, servertest.Viewer)
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "all", Kinds: []wire.Kind{wire.Jobs, wire.Schedulings}})
	w.expect("SNAPSHOT all jobs a/one jobs b/two")
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "b", Kinds: []wire.Kind{wire.Jobs}, Namespace: "b", Names: []string{"two", "three"}})
	w.expect("SNAPSHOT b jobs b/two")

	b.Store.PutJob(inState(job("a", "one"), "Running"))
	w.expect("EVENTS all MODIFIED jobs a/one")
	w.ask(wire.Request{Op: wire.OpUnsubscribe, ID: "all"})
	w.ask(wire.Request{Op: wire.OpPing, ID: "x"})
	w.expect("PONG x")
	b.Store.PutJob(job("b", "three"))
	w.expect("EVENTS b ADDED jobs b/three")
	b.Store.Remove(wire.Jobs, "b", "three")
	m := w.expect("EVENTS b DELETED jobs b/three")
	b.Store.PutJob(job("b", "three"))
	w.expect("EVENTS b ADDED jobs b/three")

	other := watch(t, b, servertest.Viewer)
	other.ask(wire.Request{Op: wire.OpSubscribe, ID: "c", Kinds: []wire.Kind{wire.Jobs}, Namespace: "b", Names: []string{"three", "two"}, Cursor: m.Cursor})
	other.expect("EVENTS c ADDED jobs b/three")
	if m := other.any(); m.Type != wire.Bookmark || m.Cursor == "" {
		t.Errorf("after what a cursor brings: %+v", m)
	}
	other.ask(wire.Request{Op: wire.OpSubscribe, ID: "d", Kinds: []wire.Kind{wire.Jobs}, Namespace: "a", Cursor: m.Cursor})
	other.expect("RESET d")
	other.expect("SNAPSHOT d jobs a/one")
	other.ask(wire.Request{Op: wire.OpSubscribe, ID: "e", Kinds: []wire.Kind{wire.Jobs}, Namespace: "a", Cursor: "nonsense"})
	other.expect("RESET e")
	other.expect("SNAPSHOT e jobs a/one")
}

// Slots are sent as a whole first, then as changes.
func TestWatchSlots(t *testing.T) {
	bed := wire.Testbed{Meta: wire.Meta{Namespace: "a", Name: "bed"}, Nodes: 1}
	for i := range 8 {
		bed.Slots = append(bed.Slots, wire.Slot{ID: fmt.Sprintf("node/%d", i), Index: i, Node: "node", Position: i})
	}
	b := servertest.Start(t, filled(func(s *servertest.Store) { s.PutTestbed(bed) }))
	w := watch(t, b, servertest.Viewer)
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "s", Kinds: []wire.Kind{wire.Slots}})
	decode := func(o wire.Object) wire.TestbedSlots {
		var s wire.TestbedSlots
		if err := json.Unmarshal(o.Object, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	whole := decode(w.expect("SNAPSHOT s slots a/bed").Objects[0])
	if whole.Partial || len(whole.Slots) != 8 {
		t.Errorf("first: %+v", whole)
	}
	changed := bed.Slots[3]
	changed.Pod = "pod"
	b.Store.PutSlot("a", "bed", changed)
	m := w.expect("EVENTS s MODIFIED slots a/bed")
	part := decode(m.Events[0].Object)
	if !part.Partial || len(part.Slots) != 1 || part.Slots[0].Pod != "pod" {
		t.Errorf("then: %+v", part)
	}
	whole = whole.Apply(part)
	bed.Slots[3] = changed
	if diff := cmp.Diff(bed.Slots, whole.Slots); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Store.PutSlot("a", "bed", wire.Slot{ID: "node/8", Index: 8, Node: "node", Position: 8})
	other := watch(t, b, servertest.Viewer)
	other.ask(wire.Request{Op: wire.OpSubscribe, ID: "s", Kinds: []wire.Kind{wire.Slots}, Cursor: m.Cursor})
	// The slot comes as a whole or as a change, depending on whether the hub had it before the
	// cursor.
	if s := decode(other.expect("EVENTS s MODIFIED slots a/bed").Events[0].Object); len(whole.Apply(s).Slots) != 9 {
		t.Errorf("by a cursor: %+v", s)
	}
}

// A page of a snapshot has 500 objects; from the overview's cursor come the changes since.
func TestWatchPages(t *testing.T) {
	b := servertest.Start(t, filled(func(s *servertest.Store) {
		for i := range 1001 {
			s.PutJob(job("a", fmt.Sprintf("job-%d", i)))
		}
	}))
	w := watch(t, b, servertest.Viewer)
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "p", Kinds: []wire.Kind{wire.Jobs}})
	for _, want := range []int{500, 500, 1} {
		m := w.next()
		if len(m.Objects) != want || m.More != (want == 500) || (m.Cursor == "") != m.More {
			t.Errorf("page of %d, more %v, cursor %q", len(m.Objects), m.More, m.Cursor)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/external/v1/overview", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = bearer(servertest.Viewer)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var o wire.Overview
	if err := json.NewDecoder(answer.Body).Decode(&o); err != nil || len(o.Jobs) != 1001 {
		t.Fatalf("%d jobs, %v", len(o.Jobs), err)
	}
	b.Store.PutJob(job("a", "new"))
	b.Store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "a", Name: "bed"}})
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "o", Kinds: []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}, Cursor: o.Cursor})
	seen := map[string]bool{}
	for len(seen) < 3 {
		m := w.next()
		if m.ID != "o" {
			continue
		}
		for _, o := range m.Objects {
			seen[string(o.Kind)] = true
		}
		for _, e := range m.Events {
			seen[string(e.Kind)] = true
		}
		if m.Type == wire.Reset || len(m.Events) > 3 {
			t.Errorf("%s", brief(m))
		}
	}
}

func TestWatchRefuses(t *testing.T) {
	b := servertest.Start(t, nil)
	encoded := func(token string) string {
		return "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
	}
	with := func(name, value string) http.Header {
		h := bearer(servertest.Viewer)
		h.Set(name, value)
		return h
	}
	for name, c := range map[string]struct {
		header    http.Header
		protocols []string
		want      int
	}{
		"header":        {bearer(servertest.Viewer), nil, 101},
		"protocol":      {nil, []string{wire.Subprotocol, encoded(servertest.Viewer)}, 101},
		"session":       {http.Header{"Cookie": {"spazio-session=" + servertest.Viewer}}, nil, 101},
		"no token":      {nil, nil, 401},
		"unknown":       {bearer(servertest.Unknown), nil, 401},
		"audience":      {bearer(servertest.Foreign), nil, 401},
		"expired":       {bearer(servertest.Expired), nil, 401},
		"bad protocol":  {nil, []string{wire.Subprotocol, encoded("a b")}, 401},
		"no protocol":   {bearer(servertest.Viewer), []string{"other"}, 400},
		"origin":        {with("Origin", "https://elsewhere.example"), nil, 403},
		"null origin":   {with("Origin", "null"), nil, 403},
		"own origin":    {with("Origin", b.URL), nil, 101},
		"fetch foreign": {with("Sec-Fetch-Site", "cross-site"), nil, 101}, // reads only, and by token
	} {
		t.Run(name, func(t *testing.T) {
			conn, answer, err := dial(t.Context(), b.URL, c.header, c.protocols...)
			if err == nil {
				conn.CloseNow()
			}
			if answer == nil || answer.StatusCode != c.want {
				t.Fatalf("%v, %v", answer, err)
			}
			if got := answer.Header.Get("Content-Type"); c.want != 101 && got != wire.ProblemType {
				t.Errorf("content type %q", got)
			}
			if got := answer.Header.Get("Sec-WebSocket-Protocol"); c.want == 101 && got != wire.Subprotocol {
				t.Errorf("protocol %q", got)
			}
		})
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/external/v1/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = bearer(servertest.Viewer)
	if answer, err := http.DefaultClient.Do(request); err != nil || answer.StatusCode != 426 {
		t.Errorf("not a WebSocket: %v, %v", answer, err)
	}

	w := watch(t, b, servertest.Team)
	for request, want := range map[string]string{
		`{`:                                                            "ERROR 400 ",
		`{"op":"subscribe","id":"1","more":1}`:                         "ERROR 400 more",
		`{"op":"sing","id":"1"}`:                                       "ERROR 1 422 op",
		`{"op":"subscribe","kinds":["jobs"]}`:                          "ERROR 422 id",
		`{"op":"subscribe","id":"1"}`:                                  "ERROR 1 422 kinds",
		`{"op":"subscribe","id":"1","kinds":["pods"]}`:                 "ERROR 1 422 kinds[0]",
		`{"op":"subscribe","id":"1","kinds":["jobs","jobs"]}`:          "ERROR 1 422 kinds[1]",
		`{"op":"subscribe","id":"1","kinds":["jobs"],"namespace":"A"}`: "ERROR 1 422 namespace",
		`{"op":"subscribe","id":"1","kinds":["jobs"],"namespace":"t","names":[""]}`: "ERROR 1 422 names[0]",
		`{"op":"subscribe","id":"1","kinds":["jobs"]}`:                              "ERROR 1 403",
		`{"op":"subscribe","id":"1","kinds":["slots"],"namespace":"other"}`:         "ERROR 1 403",
		`{"op":"unsubscribe","id":"1"}`:                                             "ERROR 1 404",
		`{"op":"ping","id":"` + strings.Repeat("x", 65) + `"}`:                      "ERROR 422 id",
	} {
		w.say(request)
		w.expect(want)
	}
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "1", Kinds: []wire.Kind{wire.Slots, wire.Jobs}, Namespace: "team"})
	w.expect("SNAPSHOT 1")
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "1", Kinds: []wire.Kind{wire.Jobs}, Namespace: "team"})
	w.expect("ERROR 1 409")
	w.say(`{"op":"ping","id":"` + strings.Repeat("x", 16<<10) + `"}`)
	if code := w.closed(); code != websocket.StatusMessageTooBig {
		t.Errorf("closed with %d", code)
	}
}

func TestWatchLimits(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) {
		c.Limits.Connections = 3
		server.SetCallerLimits(c, 2, 2)
		c.Limits.Rate, c.Limits.Burst = 1e6, 1e6 // a client retries often
	})
	one := watch(t, b, servertest.Viewer)
	for i, want := range []string{"SNAPSHOT 0", "SNAPSHOT 1", "ERROR 2 429"} {
		one.ask(wire.Request{Op: wire.OpSubscribe, ID: fmt.Sprint(i), Kinds: []wire.Kind{wire.Jobs}})
		one.expect(want)
	}
	watch(t, b, servertest.Viewer)
	if code := watch(t, b, servertest.Viewer).closed(); code != wire.CloseTooMany {
		t.Errorf("the caller's third is closed with %d", code)
	}
	// A refused connection may count a moment longer.
	defer once(t, b, servertest.Admin).CloseNow()
	if code := watch(t, b, servertest.Team).closed(); code != wire.CloseTooMany {
		t.Errorf("one too many is closed with %d", code)
	}
	// A client that leaves makes room.
	one.conn.Close(websocket.StatusNormalClosure, "")
	once(t, b, servertest.Team).CloseNow()
}

// once connects as soon as there is room, and returns what answers a ping.
func once(t *testing.T, b *servertest.Bench, token string) *websocket.Conn {
	t.Helper()
	for {
		conn, _, err := dial(t.Context(), b.URL, bearer(token))
		if err != nil {
			t.Fatal(err)
		}
		w := &watcher{t: t, conn: conn}
		w.ask(wire.Request{Op: wire.OpPing})
		if _, _, err = conn.Read(t.Context()); err == nil {
			return conn
		}
		conn.CloseNow()
		if code := websocket.CloseStatus(err); code != wire.CloseTooMany {
			t.Fatal(err)
		}
	}
}

// short has short intervals, so that tests need not wait.
func short(c *server.Config) {
	c.Watch = server.WatchConfig{Bookmark: 20 * time.Millisecond, Ping: 10 * time.Millisecond, Recheck: 10 * time.Millisecond}
}

func TestWatchBookmarks(t *testing.T) {
	b := servertest.Start(t, short)
	w := watch(t, b, servertest.Viewer)
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "1", Kinds: []wire.Kind{wire.Jobs}, Namespace: "a"})
	first := w.expect("SNAPSHOT 1").Cursor
	b.Store.PutJob(job("b", "x")) // not this client's, but it moves the cursor
	for {
		m := w.any()
		if m.Type != wire.Bookmark || m.ID != "1" {
			t.Fatalf("%+v", m)
		}
		if m.Cursor != first {
			return
		}
	}
}

func TestWatchEnds(t *testing.T) {
	b := servertest.Start(t, short)
	rights := servertest.View("")
	b.Identities.Add("token-1", servertest.Audience, server.Caller{Name: "one"}, rights...)
	b.Identities.Add("token-2", servertest.Audience, server.Caller{Name: "two"}, rights...)
	begin := func(token string) *watcher {
		w := watch(t, b, token)
		w.ask(wire.Request{Op: wire.OpSubscribe, ID: "1", Kinds: []wire.Kind{wire.Jobs}})
		w.expect("SNAPSHOT 1")
		return w
	}
	one, two := begin("token-1"), begin("token-2")
	b.Identities.Revoke("token-1")
	if code := one.closed(); code != wire.CloseUnauthorized {
		t.Errorf("a revoked token: closed with %d", code)
	}
	b.Identities.Add("token-2", servertest.Audience, server.Caller{Name: "two"}, servertest.View("other")...)
	if code := two.closed(); code != wire.CloseForbidden {
		t.Errorf("a lost right: closed with %d", code)
	}
}

// A token's end closes the connection without another review.
func TestWatchTokenEnds(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) { c.Watch.Recheck = time.Hour })
	for life := time.Second; ; life *= 2 { // a slow machine may take longer to connect
		b.Identities.Add("token", servertest.Audience, server.Caller{Name: "one", Expires: time.Now().Add(life)}, servertest.View("")...)
		conn, answer, err := dial(t.Context(), b.URL, bearer("token"))
		if answer != nil && answer.StatusCode == http.StatusUnauthorized {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		if code := (&watcher{t: t, conn: conn}).closed(); code != wire.CloseUnauthorized {
			t.Errorf("an ended token: closed with %d", code)
		}
		return
	}
}

// A client that does not read is disconnected; its unread messages take no more memory than there
// are objects.
func TestWatchSlowReader(t *testing.T) {
	registry := prometheus.NewRegistry()
	b := servertest.Start(t, func(c *server.Config) {
		c.Watch = server.WatchConfig{Ping: 10 * time.Millisecond, Slow: 3 * time.Second}
		c.Registerer = registry
	})
	slow, quick := watch(t, b, servertest.Viewer), watch(t, b, servertest.Viewer)
	for _, w := range []*watcher{slow, quick} {
		w.ask(wire.Request{Op: wire.OpSubscribe, ID: "1", Kinds: []wire.Kind{wire.Jobs}})
	}
	quick.expect("SNAPSHOT 1")
	b.Store.PutJob(job("a", "x"))
	quick.expect("EVENTS 1 ADDED jobs a/x") // it answers pings as it reads
	// quick continues to read while slow does not, until slow is disconnected.
	for i := 0; metrics(t, registry)["spazio_testbed_watchers"] == 2; i++ {
		b.Store.PutJob(inState(job("a", "x"), fmt.Sprint(i)))
		quick.expect("EVENTS 1 MODIFIED jobs a/x")
	}
	if code := slow.closed(); code != wire.CloseSlow {
		t.Errorf("closed with %d", code)
	}
}

// The server announces its end to clients, and waits until they have left.
func TestWatchServerEnds(t *testing.T) {
	store, identities := servertest.NewStore(), servertest.Callers()
	registry := prometheus.NewRegistry()
	s, err := server.New(server.Config{Store: store, Authenticator: identities, Authorizer: identities, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url := listen(t, s)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b := &servertest.Bench{URL: url, Server: s, Store: store}
	w := watch(t, b, servertest.Viewer)
	w.ask(wire.Request{Op: wire.OpSubscribe, ID: "1", Kinds: []wire.Kind{wire.Jobs}})
	w.expect("SNAPSHOT 1")
	store.PutJob(job("a", "x"))
	w.expect("EVENTS 1 ADDED jobs a/x")
	got := metrics(t, registry)
	for got["spazio_testbed_events_total new"] == 0 { // counted once all subscribers were woken
		time.Sleep(time.Millisecond)
		got = metrics(t, registry)
	}
	for name, want := range map[string]float64{"spazio_testbed_watchers": 1, "spazio_testbed_events_total sent": 1, "spazio_testbed_events_total new": 1} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v (%v)", name, got[name], want, got)
		}
	}
	cancel()
	if code := w.closed(); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := metrics(t, registry)["spazio_testbed_watchers"]; got != 0 {
		t.Errorf("%v watchers after the end", got)
	}
	if _, answer, err := dial(t.Context(), url, bearer(servertest.Viewer)); err == nil || answer == nil || answer.StatusCode != 503 {
		t.Errorf("after the end: %v, %v", answer, err)
	}
}

// failing is a Store that cannot be followed.
type failing struct{ *servertest.Store }

func (failing) Follow(context.Context, func(server.Change), func()) error {
	return errors.New("no way")
}

func TestRunTellsOfStore(t *testing.T) {
	s, err := server.New(server.Config{Store: failing{servertest.NewStore()}, Authenticator: servertest.Callers(), Authorizer: servertest.Callers()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil || err.Error() != "no way" {
		t.Errorf("Run returns %v", err)
	}
}

func metrics(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// An invalid request is refused with a problem, and a valid one is parsed as written.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"op":"subscribe","id":"a","kinds":["testbeds","slots","jobs","schedulings"],"namespace":"x","names":["y"],"cursor":"AQ"}`,
		`{"op":"unsubscribe","id":"a"}`, `{"op":"ping"}`, `{`, `null`, `{"op":"subscribe","id":"a","kinds":["jobs"]} {}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := server.ParseRequest(data)
		if err != nil {
			var p *wire.Problem
			if !errors.As(err, &p) || p.Status < 400 || p.Status > 499 {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := server.ParseRequest(again)
		if err != nil || !slices.Equal(twice.Kinds, r.Kinds) || twice.ID != r.ID || twice.Op != r.Op || !slices.Equal(twice.Names, r.Names) {
			t.Fatalf("%q is %+v once, %+v then: %v", data, r, twice, err)
		}
	})
}

func listen(t *testing.T, s *server.Server) string {
	t.Helper()
	l := httptest.NewServer(s)
	t.Cleanup(l.Close)
	return l.URL
}
