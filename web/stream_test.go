package web_test

import (
	"bufio"
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/web"
)

// source is a Source made of functions; a missing one has no answer.
type source struct {
	state func(context.Context) (web.State, error)
	node  func(context.Context, string) (web.Explanation, error)
	pod   func(context.Context, string, string) (web.Timeline, error)
}

func (s source) State(ctx context.Context) (web.State, error) { return s.state(ctx) }
func (s source) Node(ctx context.Context, name string) (web.Explanation, error) {
	return s.node(ctx, name)
}
func (s source) Pod(ctx context.Context, namespace, name string) (web.Timeline, error) {
	return s.pod(ctx, namespace, name)
}

// steady is a Source of one State.
func steady(s web.State) source {
	return source{state: func(context.Context) (web.State, error) { return s, nil }}
}

// quiet has settings for tests: frames as fast as they come.
func quiet(s web.Source) web.Config {
	return web.Config{Source: s, Interval: time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
}

// start runs a server behind a listener of its own until the test ends.
func start(t testing.TB, c web.Config, as ...func(*http.Server)) string {
	t.Helper()
	server, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	listener := httptest.NewUnstartedServer(server)
	for _, change := range as {
		change(listener.Config)
	}
	listener.Start()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	return listener.URL
}

// event is one as it is sent.
type event struct {
	Number  uint64
	At      int64
	Version string
	Problem string
	Count   *int
	More    int
	Ending  string
	Title   *string
	Verdict []string
	Runs    []struct {
		Profile                                                    string
		Ended                                                      bool
		Total, Submitted, Waiting, Starting, Running, Done, Failed int
		Mean, Last, Rate, Over, Resolution                         float64
	}
	Further       *int
	Curves, Rates *lines
	Waiting       []struct {
		Namespace, Name, Profile, Reason string
		Since                            int64
	}
	WaitingTotal *int
	Rows         [][]json.RawMessage
	Words        []string
	Last         bool
	size         int
}

type lines struct {
	Kind       string
	From, Step float64
	Y          [][]*float64
}

// shown is a node as a reader has it.
type shown struct {
	Name                     string
	Signal, Saturated        int
	ByRequests               int
	Free, Capacity, InFlight *int // tenths
	Running                  int
	Limiting, Reason         string
}

// reader follows a stream as the page does, by the documented format.
type reader struct {
	t     testing.TB
	in    *bufio.Scanner
	close func()

	event  // the latest of each part
	nodes  []shown
	events []event // of the latest frame
	whole  bool    // it was all
}

func splitEvents(data []byte, atEnd bool) (int, []byte, error) {
	if i := bytes.Index(data, []byte("\n\n")); i >= 0 {
		return i + 2, data[:i], nil
	}
	return 0, nil, nil
}

func newReader(t testing.TB, from io.ReadCloser) *reader {
	in := bufio.NewScanner(from)
	in.Buffer(nil, 64<<20)
	in.Split(splitEvents)
	return &reader{t: t, in: in, close: func() { from.Close() }}
}

// look opens a stream; the status of the answer shows whether there is one.
func look(t testing.TB, address string) (*reader, *http.Response) {
	t.Helper()
	answer, err := http.Get(address + "/events")
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, answer.Body)
	t.Cleanup(r.close)
	return r, answer
}

// next reads a frame; it returns false at the stream's end.
func (r *reader) next() bool {
	r.t.Helper()
	r.events, r.whole = nil, false
	for {
		if !r.in.Scan() {
			return false
		}
		data, ok := strings.CutPrefix(r.in.Text(), "event: frame\ndata: ")
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || strings.Contains(data, "\n") {
			r.t.Fatalf("%v in %.200q", err, r.in.Text())
		}
		e.size = len(r.in.Bytes()) + 2
		r.take(e)
		if e.Last {
			return true
		}
	}
}

// frame reads the next frame, which must exist.
func (r *reader) frame() {
	r.t.Helper()
	if !r.next() {
		r.t.Fatal("the stream has ended: ", r.in.Err())
	}
}

// first reads the first frame with a State: on a busy machine an earlier one may report that there
// is no answer yet.
func (r *reader) first() {
	r.t.Helper()
	for r.frame(); r.Title == nil; r.frame() {
	}
}

func (r *reader) take(e event) {
	r.t.Helper()
	r.events = append(r.events, e)
	was := r.event
	r.event = e
	if e.Count != nil {
		r.whole, r.nodes = true, make([]shown, *e.Count)
	} else {
		r.Count, r.More, r.Ending = was.Count, was.More, was.Ending
	}
	if e.Further == nil {
		r.Further = was.Further
	}
	if e.Title == nil {
		r.Title = was.Title
	}
	if e.Verdict == nil {
		r.Verdict = was.Verdict
	}
	if e.Runs == nil {
		r.Runs = was.Runs
	}
	if e.Curves == nil {
		r.Curves = was.Curves
	}
	if e.Rates == nil {
		r.Rates = was.Rates
	}
	if e.Waiting == nil {
		r.Waiting = was.Waiting
	}
	if e.WaitingTotal == nil {
		r.WaitingTotal = was.WaitingTotal
	}
	before := ""
	for _, row := range e.Rows {
		var n shown
		var at, limiting, reason int
		fields := []any{&at, &n.Signal, &n.Saturated, &n.ByRequests, &n.Free, &n.Capacity, &n.InFlight, &n.Running, &limiting, &reason}
		shared, rest := 0, ""
		if r.whole {
			fields = append(fields, &shared, &rest)
		}
		if len(row) != len(fields) {
			r.t.Fatalf("a row of %d: %s", len(row), row)
		}
		for i, f := range fields {
			if err := json.Unmarshal(row[i], f); err != nil {
				r.t.Fatal(err)
			}
		}
		n.Limiting, n.Reason, n.Name = e.Words[limiting], e.Words[reason], r.nodes[at].Name
		if r.whole {
			before = before[:shared] + rest + r.Ending
			n.Name = before
		}
		r.nodes[at] = n
	}
}

// The first frame has the whole state; later ones have changes.
func TestFrames(t *testing.T) {
	var mu sync.Mutex
	now := web.State{At: time.UnixMilli(1e12), Title: "t", Nodes: []web.Node{
		{Name: "b", Signal: web.Fresh, Free: 2.37, Capacity: 9, Running: 6, InFlight: .5, Limiting: "cpu"},
		{Name: "a", Reason: "no agent"}, {Name: "b", Reason: "the first of a name counts"}, {Name: "c", Signal: web.Stale, Reason: "no report", ByRequests: true},
	}}
	address := start(t, quiet(source{state: func(context.Context) (web.State, error) {
		mu.Lock()
		defer mu.Unlock()
		now.At = now.At.Add(time.Millisecond)
		return now, nil
	}}))
	set := func(by func()) {
		mu.Lock()
		defer mu.Unlock()
		now.Nodes = slices.Clone(now.Nodes)
		by()
	}
	r, _ := look(t, address)
	r.first()
	if got := names(r.nodes); got != "a b c" || !r.whole || *r.Title != "t" || r.nodes[1].Reason != "" || *r.nodes[1].Free != 23 || r.nodes[2].Signal != 2 || r.nodes[2].ByRequests != 1 || r.nodes[0].ByRequests != 0 || r.nodes[0].Reason != "no agent" {
		t.Fatalf("%v: %s: %+v", r.whole, got, r.nodes)
	}
	// On a busy machine a frame may be missed, and the whole state is sent: then the test retries.
	for r.frame(); r.whole; r.frame() {
	}
	if len(r.events[0].Rows) != 0 || r.events[0].Title != nil || r.events[0].Curves != nil {
		t.Errorf("nothing has changed, and yet: %+v", r.events[0])
	}
	for turn := 1; turn == 1 || r.whole; turn++ {
		title := fmt.Sprint("u", turn)
		set(func() { now.Nodes[0].Saturated, now.Nodes[0].Free, now.Title = turn%2 == 1, 2.31, title })
		for r.frame(); *r.Title != title; r.frame() {
		}
		if got := r.nodes[1]; got.Saturated != turn%2 || got.Name != "b" || !r.whole && len(r.events[0].Rows) != 1 {
			t.Errorf("%+v %+v", r.events, r.nodes)
		}
	}
	set(func() { now.Nodes = append(now.Nodes, web.Node{Name: "d"}) })
	for len(r.nodes) < 4 {
		r.frame()
	}
	if got := names(r.nodes); got != "a b c d" || !r.whole {
		t.Error(got, r.whole)
	}
}

func names(nodes []shown) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return strings.Join(all, " ")
}

// A reader beyond the limit gets a time to retry, and a place once another has left.
func TestPlaces(t *testing.T) {
	c := quiet(steady(web.State{}))
	c.Interval = 3 * time.Millisecond
	address := start(t, c)
	var readers []*reader
	for range 32 {
		r, answer := look(t, address)
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status)
		}
		r.frame()
		readers = append(readers, r)
	}
	_, answer := look(t, address)
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "5" {
		t.Fatal(answer.Status, answer.Header)
	}
	for _, r := range readers {
		r.frame()
	}
	readers[7].close()
	for {
		r, answer := look(t, address)
		if answer.StatusCode == http.StatusOK {
			r.frame()
			return
		}
		r.close()
	}
}

// Without readers the source is not queried, and a new reader gets the present state.
func TestOnlyWhileAnybodyLooks(t *testing.T) {
	var asked atomic.Int64
	address := start(t, quiet(source{state: func(context.Context) (web.State, error) {
		return web.State{Title: fmt.Sprint(asked.Add(1))}, nil
	}}))
	for range 20 {
		answer, err := http.Get(address)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
		answer.Body.Close()
		answer, err = http.Head(address + "/events")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("asked %d times before anybody looked", n)
	}
	for range 3 {
		before := asked.Load()
		r, _ := look(t, address)
		r.first()
		if first, err := strconv.ParseInt(*r.Title, 10, 64); !r.whole || err != nil || first <= before {
			t.Errorf("asked %d times before, the first frame is of question %s", before, *r.Title)
		}
		r.frame()
		r.close()
		// The source falls silent; otherwise this never ends.
		for last, same := asked.Load(), 0; same < 100; time.Sleep(time.Millisecond) {
			if n := asked.Load(); n == last {
				same++
			} else {
				last, same = n, 0
			}
		}
	}
}

// A reader that reads nothing loses its place, and blocks no other.
func TestReaderThatDoesNotRead(t *testing.T) {
	var mu sync.Mutex
	nodes := make([]web.Node, 5000)
	for i := range nodes {
		nodes[i] = web.Node{Name: fmt.Sprintf("node-%d", i), Signal: web.Fresh}
	}
	turn := 0
	c := quiet(source{state: func(context.Context) (web.State, error) {
		mu.Lock()
		defer mu.Unlock()
		turn++
		all := make([]web.Node, len(nodes))
		for i, n := range nodes {
			n.Running = turn
			all[i] = n
		}
		return web.State{Nodes: all}, nil
	}})
	web.SetReaders(&c, 1)
	c.WriteTimeout = 50 * time.Millisecond
	address := start(t, c)
	for begun := false; !begun; { // on a busy machine even the first write may be too late
		lazy, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer lazy.Close()
		fmt.Fprintf(lazy, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, err = lazy.Read(make([]byte, 100))
		begun = err == nil
	}
	for {
		if r, answer := look(t, address); answer.StatusCode == http.StatusOK {
			r.close()
			return
		}
	}
}

// A slow reader that has missed frames gets the whole state, not the changes.
func TestSlowReader(t *testing.T) {
	turns := make(chan int)
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	c := quiet(source{state: func(ctx context.Context) (web.State, error) {
		select {
		case n := <-turns:
			s := web.State{Title: fmt.Sprint(n)}
			for i := range 100 {
				s.Nodes = append(s.Nodes, web.Node{Name: fmt.Sprintf("node-%02d", i), Running: min(n, i)})
			}
			return s, nil
		case <-done:
			return web.State{}, errors.New("the test is over")
		case <-ctx.Done():
			return web.State{}, ctx.Err()
		}
	}})
	server, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	w := &slowWriter{header: make(http.Header), writes: make(chan []byte), goOn: make(chan struct{})}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/events", nil)
	served := make(chan struct{})
	go func() { defer close(served); server.ServeHTTP(w, r) }()
	turns <- 1
	var taken bytes.Buffer
	first := <-w.writes // the writer waits
	for !bytes.Contains(first, []byte(`"title":"1"`)) {
		w.goOn <- struct{}{} // that there is no answer yet
		first = <-w.writes
	}
	taken.Write(first)
	for n := 2; n <= 9; n++ {
		turns <- n
	}
	turns <- 10 // is asked once the frame of 9 is shown
	w.goOn <- struct{}{}
	taken.Write(<-w.writes)
	cancel()
	close(w.goOn)
	for over := false; !over; {
		select {
		case <-w.writes:
		case <-served:
			over = true
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	in := newReader(t, io.NopCloser(&taken))
	in.frame()
	if !in.whole || *in.Title != "1" {
		t.Error(in.whole, *in.Title)
	}
	in.frame()
	if title := *in.Title; !in.whole || title != "9" && title != "10" || in.nodes[99].Running < 9 {
		t.Errorf("%v %s %+v", in.whole, title, in.nodes[99])
	}
}

// slowWriter hands each write over and waits before it goes on.
type slowWriter struct {
	header http.Header
	writes chan []byte
	goOn   chan struct{}
}

func (w *slowWriter) Header() http.Header { return w.header }
func (w *slowWriter) WriteHeader(int)     {}
func (w *slowWriter) Write(p []byte) (int, error) {
	w.writes <- bytes.Clone(p)
	<-w.goOn
	return len(p), nil
}
func (w *slowWriter) FlushError() error                { return nil }
func (w *slowWriter) SetWriteDeadline(time.Time) error { return nil }
