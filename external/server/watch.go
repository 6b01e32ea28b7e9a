package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// watches are the connections that follow the Store, of either protocol. It is safe for
// concurrent use.
type watches struct {
	server *Server
	hub    *hub
	// ctx lasts until the server ends; its cause is what clients get as the reason then.
	ctx context.Context
	end context.CancelCauseFunc

	mu    sync.Mutex
	ended bool
	open  sync.WaitGroup
	count tally

	watchers prometheus.Gauge
	events   *prometheus.CounterVec
}

func newWatches(s *Server) *watches {
	w := &watches{
		server: s, hub: newHub(remembered),
		watchers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "spazio_testbed_watchers",
			Help: "Connections of clients that watch.",
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spazio_testbed_events_total",
			Help: "Changes of objects by result: new, stale (already known), refused (invalid), sent (to a client); reset counts clients that had to start again from a snapshot.",
		}, []string{"result"}),
	}
	w.ctx, w.end = context.WithCancelCause(context.Background())
	return w
}

// run follows the Store until ctx ends; then it ends all connections and waits for them.
func (w *watches) run(ctx context.Context) error {
	err := w.server.config.Store.Follow(ctx, w.apply, w.hub.markSynced)
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

// apply takes in a change from the Store.
func (w *watches) apply(c Change) {
	news, err := w.hub.apply(c.Type, c.Object)
	result := "new"
	switch {
	case err != nil:
		result = "refused"
		w.server.config.Logger.LogAttrs(w.ctx, slog.LevelError, "change refused", slog.String("kind", string(c.Object.ObjectKind())),
			slog.String("object", c.Object.Common().FullName().String()), slog.String("why", err.Error()))
	case !news:
		result = "stale"
	}
	w.events.WithLabelValues(result).Inc()
}

// sent counts what a client is sent.
func (w *watches) sent(m *wire.Message) {
	w.events.WithLabelValues("sent").Add(float64(len(m.Events)))
	if m.Type == wire.Reset {
		w.events.WithLabelValues("reset").Inc()
	}
}

// ready waits a moment for the hub, which gets the objects after the Store has them. The problem is
// that of a server that has not read everything yet.
func (w *watches) ready(ctx context.Context) error {
	if err := w.server.config.Store.Synced(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	select {
	case <-w.hub.ready:
		return nil
	case <-ctx.Done():
		return RefuseForNow(http.StatusServiceUnavailable, 1, "Not everything has been read yet.")
	}
}

// mostAnonymous is how many unauthenticated connections an address may have.
const mostAnonymous = 32

// turningAway is how many connections beyond the limit are accepted only to be closed with a code
// that a browser's script can read.
const turningAway = 100

// enter counts a connection. What it returns ends it; the error, a problem, is instead of it.
func (w *watches) enter(caller Caller) (*ending, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limits := &w.server.config.Limits
	var full *ending
	switch {
	case w.ended:
		return nil, RefuseForNow(http.StatusServiceUnavailable, 1, "The server ends.")
	case w.count.all >= limits.Connections+turningAway:
		return nil, RefuseForNow(http.StatusTooManyRequests, 10, "Too many connections.")
	case w.count.all >= limits.Connections:
		full = &ending{wire.CloseTooMany, "too many connections"}
	case w.count.of[caller.Name] >= limits.callerConnections, caller.anonymous() && w.count.of[caller.Name] >= mostAnonymous:
		full = &ending{wire.CloseTooMany, "too many connections of this caller"}
	}
	w.count.add(caller.Name, 1)
	w.open.Add(1)
	w.watchers.Inc()
	return full, nil
}

func (w *watches) leave(caller Caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.add(caller.Name, -1)
	w.watchers.Dec()
	w.open.Done()
}

// rename counts a connection as that of the caller it has turned out to be.
func (w *watches) rename(from, to Caller) *ending {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count.of[to.Name] >= w.server.config.Limits.callerConnections {
		return &ending{wire.CloseTooMany, "too many connections of this caller"}
	}
	w.count.add(from.Name, -1)
	w.count.add(to.Name, 1)
	return nil
}

// ending is why a connection ends, as it is sent to the client.
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
// what there is now. Until the hub has read everything once it is empty, which begins with a
// snapshot.
func (w *watches) cursor(namespace string) string {
	select {
	case <-w.hub.ready:
		return w.hub.cursor(newFilter([]wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings}, namespace, nil))
	default:
		return ""
	}
}

// subscription is what a client follows.
type subscription struct {
	id    string
	hub   *feed
	takes []Access
	// destination is STOMP's topic, on which objects are sent, or else their names.
	destination string
	objects     bool
}

// subscriptions are a connection's subscriptions. The goroutine that reads makes and ends them,
// while others go over the list as it was.
type subscriptions struct {
	peer *peer
	// wake has a token if there may be something to send.
	wake chan struct{}

	list atomic.Pointer[[]*subscription] // in the order of their making; replaced, never modified
}

func newSubscriptions(p *peer) *subscriptions {
	s := &subscriptions{peer: p, wake: make(chan struct{}, 1)}
	s.list.Store(new([]*subscription))
	return s
}

func (s *subscriptions) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *subscriptions) current() []*subscription { return *s.list.Load() }

func (s *subscriptions) replace(list []*subscription) { s.list.Store(&list) }

// subscribe begins a subscription to what a request names, if the caller may watch that.
func (s *subscriptions) subscribe(ctx context.Context, next *subscription, r wire.Request) error {
	w, list := s.peer.watches, s.current()
	switch {
	case find(list, next.id) >= 0:
		return Refuse(http.StatusConflict, "On this connection there is a subscription of this ID.")
	case len(list) >= w.server.config.Limits.subscriptions:
		return Refuse(http.StatusTooManyRequests, "Too many subscriptions on this connection.")
	}
	for _, kind := range r.Kinds {
		access := Access{Verb: Watch, Kind: kind, Namespace: r.Namespace}
		if err := w.server.authorize(ctx, s.peer.is(), access); err != nil {
			return err
		}
		next.takes = append(next.takes, access)
	}
	var err error
	if next.hub, err = w.hub.subscribe(newFilter(r.Kinds, r.Namespace, r.Names), r.Cursor, s.signal); err != nil {
		return err
	}
	s.add(next)
	return nil
}

// add has the writer look, too: what came since the subscription began has woken it in vain.
func (s *subscriptions) add(next *subscription) {
	s.replace(append(slices.Clone(s.current()), next))
	s.signal()
}

// remove ends the subscription, and reports whether there is one.
func (s *subscriptions) remove(id string) bool {
	list := s.current()
	i := find(list, id)
	if i < 0 {
		return false
	}
	list[i].hub.close()
	s.replace(slices.Delete(slices.Clone(list), i, i+1))
	return true
}

func find(list []*subscription, id string) int {
	return slices.IndexFunc(list, func(one *subscription) bool { return one.id == id })
}

// turn sends a message of each subscription that has one, and reports whether any had.
func (s *subscriptions) turn(send func(*subscription, wire.Message) error) (more bool, err error) {
	for _, one := range s.current() {
		m, ok := one.hub.next()
		if !ok {
			continue
		}
		more = true
		if err := send(one, m); err != nil {
			return true, err
		}
	}
	return more, nil
}

// rights are what all of them take.
func (s *subscriptions) rights() (all []Access) {
	for _, one := range s.current() {
		all = append(all, one.takes...)
	}
	return all
}

// close ends all of them.
func (s *subscriptions) close() {
	for _, one := range s.current() {
		one.hub.close()
	}
	s.replace(nil)
}
