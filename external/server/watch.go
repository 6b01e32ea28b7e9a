package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/external/internal/hub"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
)

// WatchConfig has the intervals of watches. Zero fields have the defaults.
type WatchConfig struct {
	// Gather is how long after an event others of the same connection wait to go together
	// (20 ms).
	Gather time.Duration
	// Bookmark is how often a subscription is told how far it is (10 s).
	Bookmark time.Duration
	// Ping is how often a client is asked whether it reads (10 s), Slow how long it may
	// take to answer, or to take in what it is sent (30 s).
	Ping, Slow time.Duration
	// Recheck is how often it is asked again whether the token and the rights hold (60 s);
	// a client whose rights nobody can tell five times is sent away.
	Recheck time.Duration
}

func (c WatchConfig) withDefaults() WatchConfig {
	return WatchConfig{
		Gather:   cmp.Or(c.Gather, 20*time.Millisecond),
		Bookmark: cmp.Or(c.Bookmark, 10*time.Second),
		Ping:     cmp.Or(c.Ping, 10*time.Second),
		Slow:     cmp.Or(c.Slow, 30*time.Second),
		Recheck:  cmp.Or(c.Recheck, time.Minute),
	}
}

func (c *WatchConfig) validate() error {
	for _, f := range []struct {
		field string
		value time.Duration
	}{
		{"Gather", c.Gather}, {"Bookmark", c.Bookmark}, {"Ping", c.Ping}, {"Slow", c.Slow}, {"Recheck", c.Recheck},
	} {
		if f.value <= 0 {
			return refuse("Watch."+f.field, f.value, "positive")
		}
	}
	return nil
}

// watches are the connections that follow the Store, of either protocol. It is safe for
// concurrent use.
type watches struct {
	server *Server
	hub    *hub.Hub
	// ctx is until the server ends, with what clients are told then.
	ctx context.Context
	end context.CancelCauseFunc

	mu       sync.Mutex
	ended    bool
	open     sync.WaitGroup
	total    int
	byCaller map[string]int

	watchers prometheus.Gauge
	events   *prometheus.CounterVec
}

// Results of events_total.
const (
	heard   = "heard"   // from the Store
	stale   = "stale"   // from the Store, and not newer than what was known
	refused = "refused" // from the Store, and of no use
	told    = "told"    // to a client
	reset   = "reset"   // a client had to begin anew
)

func newWatches(s *Server) (*watches, error) {
	w := &watches{
		server: s, hub: hub.New(hub.Config{ID: rand.Uint32()}), byCaller: map[string]int{},
		watchers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "spazio_testbed_watchers",
			Help: "Connections of clients that watch.",
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spazio_testbed_events_total",
			Help: "Changes of objects: heard and stale are those that were newer than what was known and others, refused those that could not be read, told those that a client was sent; reset counts clients that had to begin anew.",
		}, []string{"result"}),
	}
	w.ctx, w.end = context.WithCancelCause(context.Background())
	if r := s.config.Registerer; r != nil {
		if err := errors.Join(r.Register(w.watchers), r.Register(w.events)); err != nil {
			return nil, &field.Error{Package: "server", Field: "Registerer", Value: "watchers, events_total", Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
		}
	}
	return w, nil
}

// run follows the Store until ctx ends; then it ends all connections and waits for them.
func (w *watches) run(ctx context.Context) error {
	err := w.server.config.Store.Follow(ctx, w.hear, w.hub.Synced)
	if ctx.Err() != nil {
		err = nil
	}
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.end(&ending{websocket.StatusGoingAway, "the server ends"})
	w.open.Wait()
	return err
}

func (w *watches) hear(c Change) {
	news, err := w.hub.Apply(hub.Change(c))
	result := heard
	switch {
	case err != nil:
		result = refused
		w.server.config.Logger.LogAttrs(w.ctx, slog.LevelError, "change refused", slog.String("kind", string(c.Kind)),
			slog.String("namespace", c.Namespace), slog.String("name", c.Name), slog.String("why", err.Error()))
	case c.Type == wire.Bookmark:
		return
	case !news:
		result = stale
	}
	w.events.WithLabelValues(result).Inc()
}

// ready waits a moment for the hub, which hears of what is there after the Store has it;
// its problem is that of a server that has not read everything yet.
func (w *watches) ready(ctx context.Context) error {
	if err := w.server.config.Store.Synced(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	select {
	case <-w.hub.Ready():
		return nil
	case <-ctx.Done():
		return RefuseForNow(http.StatusServiceUnavailable, 1, "Not everything has been read yet.")
	}
}

// mostAnonymous is how many connections an address may have that have not said who they are.
const mostAnonymous = 32

// turningAway is how many connections beyond the limit are accepted to be told, in a way
// that a browser's script can read, that they are too many.
const turningAway = 100

// enter counts a connection. What it returns ends it; the problem is instead of it.
func (w *watches) enter(caller Caller) (*ending, *wire.Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limits := &w.server.config.Limits
	if w.ended {
		return nil, RefuseForNow(http.StatusServiceUnavailable, 1, "The server ends.")
	}
	if w.total >= limits.Connections+turningAway {
		return nil, RefuseForNow(http.StatusTooManyRequests, 10, "Too many connections.")
	}
	var full *ending
	switch {
	case w.total >= limits.Connections:
		full = &ending{wire.CloseTooMany, "too many connections"}
	case w.byCaller[caller.Name] >= limits.CallerConnections, caller.anonymous() && w.byCaller[caller.Name] >= mostAnonymous:
		full = &ending{wire.CloseTooMany, "too many connections of this caller"}
	}
	w.total++
	w.byCaller[caller.Name]++
	w.open.Add(1)
	w.watchers.Inc()
	return full, nil
}

func (w *watches) leave(caller Caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total--
	if w.byCaller[caller.Name]--; w.byCaller[caller.Name] == 0 {
		delete(w.byCaller, caller.Name)
	}
	w.watchers.Dec()
	w.open.Done()
}

// rename counts a connection as that of the caller it has turned out to be.
func (w *watches) rename(from, to Caller) *ending {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byCaller[to.Name] >= w.server.config.Limits.CallerConnections {
		return &ending{wire.CloseTooMany, "too many connections of this caller"}
	}
	if w.byCaller[from.Name]--; w.byCaller[from.Name] == 0 {
		delete(w.byCaller, from.Name)
	}
	w.byCaller[to.Name]++
	return nil
}

// ending is why a connection ends, as the client is told.
type ending struct {
	code   websocket.StatusCode
	reason string
}

func (e *ending) Error() string { return fmt.Sprintf("%d %s", e.code, e.reason) }

// watch is GET /watch.
func (s *Server) watch(c *call) error {
	if err := s.watches.ready(c.r.Context()); err != nil {
		return err
	}
	if !strings.EqualFold(c.r.Header.Get("Upgrade"), "websocket") {
		c.w.Header().Set("Connection", "Upgrade")
		c.w.Header().Set("Upgrade", "websocket")
		return Refuse(http.StatusUpgradeRequired, "The path takes WebSocket alone.")
	}
	if !slices.Contains(protocols(c.r), wire.Subprotocol) {
		return Refuse(http.StatusBadRequest, "The protocol "+wire.Subprotocol+" must be offered.")
	}
	return s.watches.serve(c, []string{wire.Subprotocol}, tokenOf(c.r), newConversation)
}

// cursor is where a watch of a namespace's test beds, jobs and schedulings goes on from
// what there is now. While the hub hears of all that for the first time it is empty, which
// begins with everything.
func (s *Server) cursor(namespace string) (string, error) {
	select {
	case <-s.watches.hub.Ready():
	default:
		return "", nil
	}
	f, err := hub.NewFilter([]wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings}, namespace, nil)
	if err != nil {
		return "", err
	}
	return s.watches.hub.Cursor(f), nil
}
