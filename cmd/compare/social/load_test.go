package social

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
)

// server counts its requests.
type server struct {
	reads, composes atomic.Int64
	stall           chan struct{} // the first request waits for it, if set
	stalled         atomic.Bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/read":
		s.reads.Add(1)
	case "/compose":
		s.composes.Add(1)
	default:
		http.NotFound(w, r)
	}
	if s.stall != nil && s.stalled.CompareAndSwap(false, true) {
		<-s.stall
	}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func phases(t *testing.T, text string) Phases {
	t.Helper()
	var p Phases
	if err := p.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return p
}

// The number and kinds of requests follow the rate and the phases, in turn to all targets.
func TestRunSends(t *testing.T) {
	for _, test := range []struct {
		phases          string
		reads, composes int64
	}{
		{"read", 50, 0}, {"compose", 0, 50}, {"mix", 45, 5},
		// 100 ms a phase at 100/s, the cycle half a second.
		{"compose:100ms,read:100ms,mix:100ms,rest:200ms", 19, 11},
	} {
		a, b := &server{}, &server{}
		began := 0
		r, err := runLoad(t.Context(), Load{
			Targets: []string{serve(t, a), serve(t, b)}, Rate: 100, Connections: 4, Duration: 500 * time.Millisecond, Phases: phases(t, test.phases),
		}, func() { began++ })
		if err != nil {
			t.Fatal(err)
		}
		reads, composes := a.reads.Load()+b.reads.Load(), a.composes.Load()+b.composes.Load()
		if reads != test.reads || composes != test.composes || began != 1 {
			t.Errorf("%s: %d reads and %d composes, want %d and %d; began %d times", test.phases, reads, composes, test.reads, test.composes, began)
		}
		if r.Requests != int(reads+composes) || r.Errors != 0 {
			t.Errorf("%s: %+v", test.phases, r)
		}
		if n := a.reads.Load() + a.composes.Load(); n != (reads+composes)/2 {
			t.Errorf("%s: one target of two has %d of %d", test.phases, n, reads+composes)
		}
	}
}

// A server that stalls is charged for all requests that were due meanwhile: with one connection and
// such a stall, the median of the requests due in that time is half of it; measured from sending it
// would be next to nothing.
func TestLatencyCountsFromWhenDue(t *testing.T) {
	s := &server{stall: make(chan struct{})}
	const stall = 2 * time.Second
	r, err := runLoad(t.Context(), Load{
		Targets: []string{serve(t, s)}, Rate: 50, Connections: 1, Duration: stall,
	}, func() { time.AfterFunc(stall, func() { close(s.stall) }) })
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 100 || r.P50 < .45*stall.Seconds() || r.P99 < .95*stall.Seconds() {
		t.Errorf("%+v after a stall of %v", r, stall)
	}
}

func TestErrorsAreCounted(t *testing.T) {
	var asked atomic.Int64
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 0 {
			http.Error(w, "too bad", http.StatusBadGateway)
		}
	}))
	r, err := runLoad(t.Context(), Load{Targets: []string{address}, Rate: 100, Connections: 4, Duration: 200 * time.Millisecond}, func() {})
	if err != nil || r.Requests != 10 || r.Errors != 10 || !strings.Contains(r.Error, "502") || !strings.Contains(r.Error, "too bad") {
		t.Errorf("%+v, error %v", r, err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := runLoad(ctx, Load{Targets: []string{serve(t, &server{})}, Rate: 10, Connections: 1, Duration: time.Hour}, cancel)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	good := Load{Targets: []string{"a:80"}, Rate: 1, Connections: 1, Duration: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Load){
		"Targets":     func(c *Load) { c.Targets = nil },
		"Rate":        func(c *Load) { c.Rate = 0 },
		"Connections": func(c *Load) { c.Connections = 0 },
		"Duration":    func(c *Load) { c.Duration = -1 },
		"Phases":      func(c *Load) { c.Phases = Phases{{Kind: rest}} },
	} {
		c := good
		change(&c)
		_, err := runLoad(t.Context(), c, func() {})
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestPhasesAsText(t *testing.T) {
	for text, want := range map[string]Phases{
		"read":                        {{Kind: read}},
		"compose:20s,rest:1m0s":       {{Kind: compose, For: 20 * time.Second}, {Kind: rest, For: time.Minute}},
		"mix:1.5s,read:1s,compose:1s": {{Kind: Mix, For: 1500 * time.Millisecond}, {Kind: read, For: time.Second}, {Kind: compose, For: time.Second}},
	} {
		got := phases(t, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if back, err := got.MarshalText(); err != nil || string(back) != text {
			t.Errorf("%s as text: %s, %v", text, back, err)
		}
	}
	for _, bad := range []string{"", "sleep", "read:", "read:x", "read:-1s", "rest:1s", "read,compose", "read:1s,"} {
		p := Phases{{Kind: Mix}}
		if err := p.UnmarshalText([]byte(bad)); !errors.Is(err, ErrInvalid) || len(p) != 1 {
			t.Errorf("%q: %v, error %v", bad, p, err)
		}
	}
}
