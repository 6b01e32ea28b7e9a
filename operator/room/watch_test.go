package room_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/room"
)

const soon = 2 * time.Millisecond

// scheduler is a gRPC server over TLS that reports the rooms that a test sends.
type scheduler struct {
	spaziov1.UnimplementedRoomServiceServer
	t        testing.TB
	identity transport.Config
	addr     string
	token    string
	server   *grpc.Server
	served   chan error
	// updates are for the open stream; opened gets a value for each one.
	updates chan api.Rooms
	opened  chan struct{}
}

func newScheduler(t testing.TB) *scheduler {
	t.Helper()
	s := &scheduler{t: t, identity: transporttest.SelfSigned(t, "127.0.0.1"), updates: make(chan api.Rooms), opened: make(chan struct{}, 1000)}
	s.addr = s.start("127.0.0.1:0")
	t.Cleanup(s.kill)
	return s
}

func (s *scheduler) start(addr string) string {
	s.t.Helper()
	guard, err := transport.NewConnLimiter(transport.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	config := transport.Config{CertFile: s.identity.CertFile, KeyFile: s.identity.KeyFile, Tokens: true}
	options, err := guard.ServerOptions(config)
	if err != nil {
		s.t.Fatal(err)
	}
	var listener net.Listener
	waitFor(s.t, "the address", func() bool { // just left by the server of before
		listener, err = guard.Listen(context.Background(), addr, config)
		return err == nil
	})
	// No stream of an earlier server takes an update meant for the next one's.
	s.server, s.served = grpc.NewServer(append(options, grpc.WaitForHandlers(true))...), make(chan error, 1)
	spaziov1.RegisterRoomServiceServer(s.server, s)
	go func(server *grpc.Server, served chan error) { served <- server.Serve(listener) }(s.server, s.served)
	return listener.Addr().String()
}

func (s *scheduler) kill() {
	s.server.Stop()
	<-s.served
	s.served = closed
}

var closed = func() chan error { c := make(chan error); close(c); return c }()

func (s *scheduler) Watch(_ *spaziov1.WatchRooms, stream grpc.ServerStreamingServer[spaziov1.Rooms]) error {
	if got := metadata.ValueFromIncomingContext(stream.Context(), "authorization"); s.token != "" && !slices.Equal(got, []string{"Bearer " + s.token}) {
		return status.Errorf(codes.Unauthenticated, "token %v", got)
	}
	s.opened <- struct{}{}
	for {
		select {
		case u := <-s.updates:
			if err := stream.Send(api.FromRooms(u)); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func watch(t testing.TB, c room.Config) *room.Client {
	t.Helper()
	c = c.WithMaxAge(time.Hour) // a busy machine may forget a test for seconds
	c.MaxWait = 2 * soon
	ctx, cancel := context.WithCancel(context.Background())
	w, err := room.Watch(ctx, c)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		w.Wait()
	})
	return w
}

func (s *scheduler) trust() transport.Config { return transport.Config{CAFile: s.identity.CAFile} }

// readings returns those of the named nodes that exist.
func readings(w *room.Client, names ...string) map[string]room.Reading {
	all := map[string]room.Reading{}
	for _, name := range names {
		if r, ok := w.Room(name); ok {
			all[name] = r
		}
	}
	return all
}

func (s *scheduler) until(w *room.Client, want map[string]room.Reading) {
	s.t.Helper()
	waitFor(s.t, fmt.Sprint(want), func() bool { return maps.Equal(readings(w, "a", "b", "c", "d"), want) })
}

// tokens reports whether there was a change since the last call.
func tokens(w *room.Client) bool {
	select {
	case <-w.Changed():
		return true
	default:
		return false
	}
}

// TestWatch follows a scheduler's reports: all nodes in parts, then changes.
func TestWatch(t *testing.T) {
	s := newScheduler(t)
	w := watch(t, room.Config{Target: s.addr, Transport: s.trust()})
	a, b := api.Room{Node: "a", Avail: 4.5, InFlight: 1, Held: 2, Fresh: true, CostKnown: true}, api.Room{Node: "b", Saturated: true}
	readA, readB := room.Reading{Avail: 4.5, InFlight: 1, Held: 2, Fresh: true, CostKnown: true}, room.Reading{Saturated: true}
	if got := readA.Free(); got != 1.5 {
		t.Errorf("%v free, want 1.5", got)
	}
	s.updates <- api.Rooms{Full: true, More: true, Rooms: []api.Room{a}}
	s.updates <- api.Rooms{More: true}
	if got := readings(w, "a", "b"); len(got) > 0 || !w.Heard().IsZero() {
		t.Errorf("half an update counts: %v", got)
	}
	s.updates <- api.Rooms{Rooms: []api.Room{b}}
	s.until(w, map[string]room.Reading{"a": readA, "b": readB})
	waitFor(t, "a token", func() bool { return tokens(w) })

	// An update without a change is not reported.
	before := w.Heard()
	s.updates <- api.Rooms{}
	s.updates <- api.Rooms{Rooms: []api.Room{a}, Gone: []string{"z"}}
	waitFor(t, "the words", func() bool { return w.Heard().After(before) })
	s.updates <- api.Rooms{}
	if tokens(w) {
		t.Error("a word without news is told as one")
	}
	a.Avail, readA.Avail = 3, 3
	s.updates <- api.Rooms{Rooms: []api.Room{a, {Node: "c"}}, Gone: []string{"b"}}
	s.until(w, map[string]room.Reading{"a": readA, "c": {}})
	waitFor(t, "a token", func() bool { return tokens(w) })
}

// TestSchedulerIsKilled restarts the scheduler with other nodes: the client finds it, and drops
// outdated readings.
func TestSchedulerIsKilled(t *testing.T) {
	s := newScheduler(t)
	lines := &transporttest.Journal{}
	w := watch(t, room.Config{Target: s.addr, Transport: s.trust(), Logger: slog.New(lines)})
	s.updates <- api.Rooms{Full: true, Rooms: []api.Room{{Node: "a", Avail: 1, Fresh: true}, {Node: "b", Avail: 2, Fresh: true}}}
	s.until(w, map[string]room.Reading{"a": {Avail: 1, Fresh: true}, "b": {Avail: 2, Fresh: true}})
	for range 3 {
		s.kill()
		waitFor(t, "that it is away", func() bool {
			return lines.Count("the scheduler reports no room of nodes: slots of automatic test beds stay as they are") > 0
		})
		if got := readings(w, "a", "b"); got["b"].Avail != 2 {
			t.Errorf("while it is away %v is known", got)
		}
		s.start(s.addr)
		s.updates <- api.Rooms{Full: true, Rooms: []api.Room{{Node: "b", Avail: 2, Fresh: true}}}
		s.until(w, map[string]room.Reading{"b": {Avail: 2, Fresh: true}})
		waitFor(t, "that it is back", func() bool { return lines.Count("the scheduler reports the nodes' room again") > 0 })
		lines.Clear()
	}
}

// TestSilentSchedulerIsNotFresh: there is no reading older than maxAge, the receiver is notified,
// and the stream is closed.
func TestSilentSchedulerIsNotFresh(t *testing.T) {
	s := newScheduler(t)
	w := watch(t, room.Config{Target: s.addr, Transport: s.trust()}.WithMaxAge(20*time.Millisecond))
	full := api.Rooms{Full: true, Rooms: []api.Room{{Node: "a", Avail: 1, Fresh: true}}}
	<-s.opened
	s.updates <- full
	waitFor(t, "a reading", func() bool { return len(readings(w, "a")) == 1 })
	s.until(w, map[string]room.Reading{"a": {Avail: 1}})
	waitFor(t, "word of it", func() bool { return tokens(w) })
	<-s.opened // another stream
	waitFor(t, "a fresh reading", func() bool {
		select {
		case s.updates <- full:
		default:
		}
		r, _ := w.Room("a")
		return r.Fresh
	})
}

// TestTokenIsShown: a stream sends the token as it is when the stream begins.
func TestTokenIsShown(t *testing.T) {
	s := newScheduler(t)
	s.token = "second"
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	lines := &transporttest.Journal{}
	w := watch(t, room.Config{Target: s.addr, Transport: s.trust(), TokenFile: file, Logger: slog.New(lines)})
	waitFor(t, "a refusal", func() bool {
		return lines.Count("the scheduler reports no room of nodes: slots of automatic test beds stay as they are") == 1
	})
	write("second")
	s.updates <- api.Rooms{Full: true, Rooms: []api.Room{{Node: "a"}}}
	s.until(w, map[string]room.Reading{"a": {}})
}

// TestMalformedRoomsEndTheStream: they change nothing.
func TestMalformedRoomsEndTheStream(t *testing.T) {
	s := newScheduler(t)
	w := watch(t, room.Config{Target: s.addr, Transport: s.trust()})
	<-s.opened
	s.updates <- api.Rooms{Full: true, Rooms: []api.Room{{Node: "a", Avail: 1}}}
	s.until(w, map[string]room.Reading{"a": {Avail: 1}})
	s.updates <- api.Rooms{Rooms: []api.Room{{Node: "a", Avail: 2e6}}}
	<-s.opened
	s.until(w, map[string]room.Reading{"a": {Avail: 1}})
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]room.Config{
		"Target":    {},
		"MaxWait":   {Target: "a:1", MaxWait: -1},
		"TokenFile": {Target: "127.0.0.1:1", TokenFile: "token"},
	} {
		_, err := room.Watch(t.Context(), c)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, room.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var plain *transport.PlaintextError
	if _, err := room.Watch(t.Context(), room.Config{Target: "scheduler.example:9690"}); !errors.As(err, &plain) {
		t.Errorf("plaintext to elsewhere: %v", err)
	}
}
