package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/web"
)

// expected formats a reader's knowledge of nodes differently: by name, the first of each.
func expected(nodes []web.Node) []shown {
	byName := make(map[string]shown)
	for _, n := range nodes {
		name := clipped(n.Name, 253)
		if _, ok := byName[name]; ok {
			continue
		}
		s := shown{Name: name, Running: max(0, n.Running), Limiting: clipped(n.Limiting, 253), Reason: clipped(n.Reason, 300)}
		switch n.Signal {
		case web.Fresh:
			s.Signal = 1
		case web.Stale:
			s.Signal = 2
		}
		if n.Saturated {
			s.Saturated = 1
		}
		if n.ByRequests {
			s.ByRequests = 1
		}
		s.Free, s.Capacity, s.InFlight = tenths(n.Free), tenths(n.Capacity), tenths(n.InFlight)
		for _, p := range []**int{&s.Capacity, &s.InFlight} {
			if *p == nil || **p < 0 {
				zero := 0
				*p = &zero
			}
		}
		byName[name] = s
	}
	all := make([]shown, 0, len(byName))
	for _, s := range byName {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b shown) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func tenths(v float64) *int {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v = min(1e6, max(-1e6, v))
	n := int(math.Floor(v * 10))
	if v >= 20 || v <= -20 {
		n = 10 * int(math.Floor(v))
	}
	return &n
}

func clipped(s string, most int) string {
	s = string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	if len(s) <= most {
		return s
	}
	s = s[:most-3]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// script is a Source of States, one after another, that stays at the last.
type script struct {
	source
	states []web.State
	at     int
}

func (s *script) State(context.Context) (web.State, error) {
	s.at++
	return s.states[min(s.at, len(s.states))-1], nil
}

// theEnd is the title of the last State that is played.
const theEnd = "the end"

// play shows States to one reader that takes everything, until it has the last.
func play(t testing.TB, states ...web.State) *reader {
	t.Helper()
	states[len(states)-1].Title = theEnd
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := quiet(&script{states: states})
	c.Interval = 100 * time.Microsecond
	s, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &collector{header: make(http.Header), over: cancel}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/events", nil))
	}()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	<-served
	return newReader(t, io.NopCloser(&w.Buffer))
}

// toTheEnd reads frames up to that of the last State: on a busy machine an earlier one may report
// that there is no answer yet.
func (r *reader) toTheEnd() {
	r.t.Helper()
	for r.frame(); r.Title == nil || *r.Title != theEnd; {
		r.frame()
	}
}

// collector is a writer that is never slow, until it has the last State.
type collector struct {
	bytes.Buffer
	header http.Header
	over   context.CancelFunc
}

func (w *collector) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"title":"`+theEnd+`"`)) {
		defer w.over()
	}
	return w.Buffer.Write(p)
}

func (w *collector) Header() http.Header              { return w.header }
func (w *collector) WriteHeader(int)                  {}
func (w *collector) FlushError() error                { return nil }
func (w *collector) SetWriteDeadline(time.Time) error { return nil }

// After any changes, a reader that has followed them has the present state.
func TestFollowedIsShown(t *testing.T) {
	words := []string{"", "cpu", "memory", "a \"quoted\" word", "überlang", "\xff\x00", strings.Repeat("ü", 400), "\u2028\n\n</script>"}
	numbers := []float64{0, .05, .95, 1, 1.999, 3, 19.99, 20.5, 1e9, -1e9, -.3, math.NaN(), math.Inf(1), math.Inf(-1), -25.5}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		word := func() string { return words[rng.IntN(len(words))] }
		number := func() float64 { return numbers[rng.IntN(len(numbers))] }
		node := func() web.Node {
			return web.Node{
				Name: fmt.Sprintf("node-%d%s.example", rng.IntN(40), word()), Signal: []web.Signal{web.Missing, web.Fresh, web.Stale, "odd"}[rng.IntN(4)],
				Reason: word(), Free: number(), Capacity: number(), InFlight: number(), Running: rng.IntN(20) - 5, Limiting: word(), Saturated: rng.IntN(2) == 0, ByRequests: rng.IntN(2) == 0,
			}
		}
		var states []web.State
		var nodes []web.Node
		for range 12 {
			nodes = slices.Clone(nodes)
			for range rng.IntN(6) {
				switch i := rng.IntN(len(nodes) + 1); {
				case i == len(nodes) || rng.IntN(4) == 0:
					nodes = append(nodes, node())
				case rng.IntN(4) == 0:
					nodes = slices.Delete(nodes, i, i+1)
				default:
					name := nodes[i].Name
					nodes[i] = node()
					nodes[i].Name = name
				}
			}
			states = append(states, web.State{Nodes: nodes, WaitingTotal: rng.IntN(3)})
		}
		r := play(t, states...)
		for r.next() {
		}
		last := states[len(states)-1]
		if diff := cmp.Diff(expected(last.Nodes), r.nodes); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if *r.WaitingTotal != last.WaitingTotal {
			t.Errorf("seed %d: %d", seed, *r.WaitingTotal)
		}
	}
}

// FuzzFrame: any names and words arrive unchanged, in events of a bounded size.
func FuzzFrame(f *testing.F) {
	f.Add("node-1.a", "node-2.a", "no room", "cpu", 1.5, 3)
	f.Add("ü", "üb", "\n\ndata: {}\n", "\xff", math.NaN(), -1)
	f.Add("aa", "aaa", "", "", 0., 0) // what all end in is what they begin with
	f.Fuzz(func(t *testing.T, a, b, reason, limiting string, free float64, running int) {
		nodes := []web.Node{
			{Name: a, Signal: web.Fresh, Free: free, Capacity: -free, Running: running, Limiting: limiting, Reason: reason},
			{Name: b, Reason: limiting}, {Name: a + b, Signal: web.Signal(reason), Limiting: reason},
		}
		if running > math.MaxInt32 || running < math.MinInt32 {
			return
		}
		r := play(t, web.State{Nodes: nodes, Waiting: []web.Waiting{{Namespace: a, Name: b, Reason: reason}}})
		r.toTheEnd()
		if diff := cmp.Diff(expected(nodes), r.nodes); diff != "" {
			t.Error(diff)
		}
		if len(r.Waiting) != 1 || r.Waiting[0].Name != clipped(b, 253) || r.Waiting[0].Reason != clipped(reason, 300) {
			t.Errorf("%+v", r.Waiting)
		}
	})
}

// However large the state is, events are bounded, and all of it arrives.
func TestSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	pool := make([]byte, 1<<16)
	for i := range pool {
		pool[i] = "abcdefghijklmnopqrstuvwxyz\"<>"[rng.IntN(29)]
	}
	random := func(n int) string {
		var b strings.Builder
		for b.Len() < n { // by pieces, for each letter takes its time
			at := rng.IntN(len(pool))
			b.Write(pool[at:min(at+20, at+n-b.Len(), len(pool))])
		}
		return b.String()
	}
	var worst web.State
	var long []string
	for range 1000 {
		long = append(long, random(300))
	}
	for range web.MaxNodes + 500 {
		worst.Nodes = append(worst.Nodes, web.Node{Name: random(40) + long[rng.IntN(len(long))][:213], Signal: web.Fresh, Free: 1e9 * rng.Float64(), Capacity: 1e9, InFlight: 1e9, Running: math.MaxInt32, Limiting: long[rng.IntN(len(long))][:200], Reason: long[rng.IntN(len(long))]})
	}
	for range 1000 {
		worst.Waiting = append(worst.Waiting, web.Waiting{Namespace: random(253), Name: random(253), Profile: random(253), Reason: random(1000)})
	}
	var many []web.Completion
	for range web.MaxCompletions + 1000 {
		many = append(many, web.Completion{Since: time.Duration(rng.Int64N(int64(time.Hour))), Took: time.Duration(rng.Int64N(int64(time.Hour)))})
	}
	for range web.MaxRuns + 4 {
		worst.Runs = append(worst.Runs, web.Run{Profile: random(1 << 16), Started: time.Now().Add(-time.Hour), Submitted: len(many), Done: len(many), Completions: many})
	}
	r := play(t, worst)
	r.toTheEnd()
	if want := expected(worst.Nodes)[:web.MaxNodes]; !reflect.DeepEqual(want, r.nodes) { // cmp would take its time
		t.Error("not all nodes have arrived as they are")
	}
	if r.More != 500 || r.Further == nil || *r.Further != 4 || len(r.Runs) != web.MaxRuns || len(r.Waiting) != 100 || *r.WaitingTotal != 1000 {
		t.Error(r.More, *r.Further, len(r.Runs), len(r.Waiting), *r.WaitingTotal)
	}
	for i, e := range r.events {
		if e.size > web.MaxFrame {
			t.Errorf("event %d of %d has %d bytes", i, len(r.events), e.size)
		}
	}
	usual := web.State{}
	for i := range 5000 {
		usual.Nodes = append(usual.Nodes, web.Node{Name: fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i/2500, i/50%50, 4+i%50*5), Signal: web.Fresh,
			Free: 20 * rng.Float64(), Capacity: 20, Running: rng.IntN(100), InFlight: 3 * rng.Float64(), Limiting: "memory", Reason: fmt.Sprintf("no report for %d s", rng.IntN(1000))})
	}
	r = play(t, usual)
	r.toTheEnd()
	if len(r.events) != 1 {
		t.Errorf("5,000 nodes take %d events", len(r.events))
	}
	t.Logf("5,000 nodes: %d bytes", r.events[0].size)
}
