package transport_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/field"
)

// Several loopback addresses require Linux.
var here, there = netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")

// intrude connects from an address until the test's end.
func intrude(t *testing.T, target string, from netip.Addr) *transporttest.Intruder {
	t.Helper()
	i, err := transporttest.Intrude(t.Context(), target, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// admitted returns a connection that the server has admitted, as all others there.
func admitted(t *testing.T, guard *transport.ConnLimiter, target string, from netip.Addr) *transporttest.Intruder {
	t.Helper()
	i := intrude(t, target, from)
	if _, err := i.Call(spaziov1.ModelService_Push_FullMethodName, 0, 0, 100); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is admitted", func() bool { return i.Open() == 0 && guard.Stats().Unauthenticated == 0 })
	return i
}

// refused connects and expects the server to close the connection.
func refused(t *testing.T, target string, from netip.Addr) {
	t.Helper()
	i, err := transporttest.Intrude(t.Context(), target, from, nil)
	if err != nil {
		return // closed before a read was possible
	}
	<-i.Done()
	i.Close()
}

// eventually waits for a condition that must become true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// admitting admits each caller that pushes for a node other than "refused".
type admitting struct {
	spaziov1.UnimplementedModelServiceServer
}

func (admitting) Push(ctx context.Context, r *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	if r.GetLocal().GetNode() != "refused" {
		transport.Admit(ctx)
		transport.Admit(ctx) // a second call has no effect
	}
	return &spaziov1.PushResponse{}, nil
}

// pushFrom opens a connection from an address, pushes for a node and leaves the connection open until
// the test's end.
func pushFrom(t *testing.T, target string, from netip.Addr, node string) (leave func(), err error) {
	t.Helper()
	options, err := transport.DialOptions(target, transport.Config{})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient(target, append(options, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		return dialer.DialContext(ctx, "tcp", addr)
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	leave = sync.OnceFunc(func() { connection.Close() })
	t.Cleanup(leave)
	_, err = spaziov1.NewModelServiceClient(connection).Push(t.Context(), &spaziov1.PushRequest{Local: &spaziov1.LocalModel{Node: node}})
	return leave, err
}

// TestUnauthenticatedCallersAreBounded: an address gets a limited number of connections until a push of
// it is accepted, and then as many as the server has.
func TestUnauthenticatedCallersAreBounded(t *testing.T) {
	target, guard, stop := listenWithin(t, transport.Limits{Connections: 9, Unauthenticated: 2}, transport.Config{}, admitting{})
	defer stop()
	var leaves []func()
	for range 5 { // behind one address, one after the other
		leave, err := pushFrom(t, target, here, "node")
		if err != nil {
			t.Fatalf("an admitted address was refused: %v", err)
		}
		leaves = append(leaves, leave)
	}
	first, second := intrude(t, target, here), intrude(t, target, here)
	third := intrude(t, target, here)
	eventually(t, "the third waits", func() bool { return guard.Stats().Waiting == 1 })
	if third.Served() {
		t.Error("a third unauthenticated connection of an address was served")
	}
	if _, err := pushFrom(t, target, there, "node"); err != nil {
		t.Errorf("another address was refused: %v", err)
	}
	if s := guard.Stats(); s.Connections != 9 || s.Unauthenticated != 2 || s.Refused != 0 {
		t.Errorf("got %+v, want 9 connections, 2 unauthenticated, none refused", s)
	}
	refused(t, target, there) // one over the total limit
	if first.Ended() != nil || second.Ended() != nil {
		t.Error("a connection within the bounds was closed")
	}
	first.Close()
	eventually(t, "the third has the first's place", third.Served)
	for _, leave := range leaves {
		leave()
	}
	eventually(t, "the places are given back", func() bool {
		s := guard.Stats()
		return s.Connections == 3 && s.Unauthenticated == 2 && s.Waiting == 0
	})
	second.Close()
	eventually(t, "a place", func() bool { return guard.Stats().Unauthenticated == 1 })
	if _, err := pushFrom(t, target, here, "refused"); err != nil {
		t.Errorf("a released place is not available: %v", err)
	}
	if s := guard.Stats(); s.Unauthenticated != 2 {
		t.Errorf("got %d unauthenticated callers after a push that was not admitted, want 2", s.Unauthenticated)
	}
}

// TestManyBehindOneAddress connect at once, with few places for unauthenticated callers.
func TestManyBehindOneAddress(t *testing.T) {
	target, guard, stop := listenWithin(t, transport.Limits{Unauthenticated: 3}, transport.Config{}, admitting{})
	defer stop()
	var pushing sync.WaitGroup
	for range 100 {
		pushing.Add(1)
		go func() {
			defer pushing.Done()
			if _, err := pushFrom(t, target, here, "node"); err != nil {
				t.Error(err)
			}
		}()
	}
	pushing.Wait()
	if s := guard.Stats(); s.Connections != 100 || s.Unauthenticated != 0 || s.Waiting != 0 || s.Refused != 0 {
		t.Errorf("got %+v, want 100 connections only", s)
	}
}

// TestTheQueueIsBounded: waiting connections never fill all places.
func TestTheQueueIsBounded(t *testing.T) {
	target, guard, stop := listenWithin(t, transport.Limits{Connections: 12, Unauthenticated: 1}, transport.Config{}, admitting{})
	first := intrude(t, target, here)
	for range 3 {
		intrude(t, target, here)
	}
	eventually(t, "a queue of three", func() bool { return guard.Stats().Waiting == 3 })
	refused(t, target, here)
	if _, err := pushFrom(t, target, there, "node"); err != nil {
		t.Errorf("another address: got %v", err)
	}
	stop() // also ends the waiting ones
	<-first.Done()
	if s := guard.Stats(); s.Connections != 0 || s.Waiting != 0 || s.Unauthenticated != 0 {
		t.Errorf("after the end: got %+v", s)
	}
}

// TestCallsAreBounded: calls count from their first frame on, whether or not their request ever
// arrives.
func TestCallsAreBounded(t *testing.T) {
	limits := transport.Limits{Calls: 7, CallsOfOne: 5, Message: 1000}
	target, guard, stop := listenWithin(t, limits, transport.Config{}, admitting{})
	defer stop()
	intrude := func(t *testing.T, target string, from netip.Addr) *transporttest.Intruder {
		t.Helper()
		return admitted(t, guard, target, from)
	}
	begin := func(i *transporttest.Intruder) {
		t.Helper()
		// An error means a closed connection.
		_, _ = i.Call(spaziov1.ModelService_Push_FullMethodName, 1000, 100, 100)
	}
	one := intrude(t, target, here)
	for range 5 {
		begin(one)
	}
	eventually(t, "five calls", func() bool { return guard.Stats().Calls == 5 })
	another := intrude(t, target, here)
	begin(another)
	<-another.Done() // the sixth of its address
	for range 2 {
		begin(intrude(t, target, there))
	}
	eventually(t, "seven calls", func() bool { return guard.Stats().Calls == 7 })
	if one.Ended() != nil {
		t.Errorf("the first connection was closed: %v", one.Ended())
	}
	last := intrude(t, target, there)
	begin(last)
	<-last.Done() // the eighth of all
	one.Close()
	eventually(t, "five calls have ended", func() bool { return guard.Stats().Calls == 2 })
	if _, err := pushFrom(t, target, here, "n"); err != nil {
		t.Errorf("after the calls have ended: got %v", err)
	}
	if s := guard.Stats(); s.Overcalled != 2 {
		t.Errorf("got %d connections closed for their calls, want 2", s.Overcalled)
	}
}

// TestCallsOfTheAdmittedLeaveRoom: calls that began before their connection was admitted no longer
// count as unauthenticated, so a new caller may begin as many as the first.
func TestCallsOfTheAdmittedLeaveRoom(t *testing.T) {
	target, guard, stop := listenWithin(t, transport.Limits{}, transport.Config{}, admitting{})
	defer stop()
	begin := func(i *transporttest.Intruder, calls int) {
		t.Helper()
		for range calls {
			if err := i.Head(spaziov1.ModelService_Push_FullMethodName, ""); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "its calls are in progress", func() bool { return i.Open() == calls })
	}
	for range 12 {
		i := intrude(t, target, here)
		begin(i, 90)
		if _, err := i.Call(spaziov1.ModelService_Push_FullMethodName, 0, 0, 100); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is admitted", func() bool { return guard.Stats().Unauthenticated == 0 })
	}
	last := intrude(t, target, here)
	begin(last, 90)
	if _, err := last.Call(spaziov1.ModelService_Push_FullMethodName, 0, 0, 100); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last is admitted", func() bool { return guard.Stats().Unauthenticated == 0 })
	if s := guard.Stats(); s.Overcalled != 0 || last.Ended() != nil {
		t.Errorf("got %d connections closed for their calls, the last ended by %v", s.Overcalled, last.Ended())
	}
}

// TestUnfinishedCallsEnd: a call has a time limit, which includes its request.
func TestUnfinishedCallsEnd(t *testing.T) {
	target, guard, stop := listenWithin(t, transport.Limits{CallTime: 20 * time.Millisecond}, transport.Config{}, models{})
	defer stop()
	i := intrude(t, target, here)
	if _, err := i.Call(spaziov1.ModelService_Push_FullMethodName, 1000, 100, 100); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the call has ended", func() bool { return i.Open() == 0 && guard.Stats().Calls == 0 })
	if i.Ended() != nil {
		t.Errorf("the connection ended with the call: %v", i.Ended())
	}
}

// TestStreamsOfAConnectionAreBounded: if a caller ignores the settings its excess streams are refused,
// and no others.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	target, guard, stop := listenWithin(t, transport.Limits{}, transport.Config{}, admitting{})
	defer stop()
	i := admitted(t, guard, target, here)
	for range 150 {
		if err := i.Head(spaziov1.ModelService_Push_FullMethodName, ""); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "fifty streams refused", func() bool { return i.Open() == 100 && guard.Stats().Calls == 100 })
}

// TestRequestsAreBounded: neither headers nor a message announced as larger than allowed are buffered.
func TestRequestsAreBounded(t *testing.T) {
	target, _, stop := listenWithin(t, transport.Limits{Message: 1000}, transport.Config{}, models{})
	defer stop()
	i := intrude(t, target, here)
	if _, err := i.Call(spaziov1.ModelService_Push_FullMethodName, 1001, 0, 5); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the announced message is refused", func() bool { return i.Open() == 0 })
	if err := i.Head(spaziov1.ModelService_Push_FullMethodName, strings.Repeat("x", 20<<10)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the headers are refused", func() bool { return i.Open() == 0 })
}

// TestHandshakesEnd: a silent connection is closed.
func TestHandshakesEnd(t *testing.T) {
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	target, guard, stop := listenWithin(t, transport.Limits{Handshake: 20 * time.Millisecond}, identity, models{})
	defer stop()
	conn, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the server sent bytes first")
	}
	eventually(t, "the connection is closed", func() bool { return guard.Stats().Connections == 0 })
}

func TestLimitErrors(t *testing.T) {
	for name, l := range map[string]transport.Limits{
		"Connections": {Connections: -1}, "Unauthenticated": {Unauthenticated: 1<<30 + 1},
		"Calls": {Calls: -1}, "CallsOfOne": {CallsOfOne: -1}, "Message": {Message: -1},
		"Handshake": {Handshake: -1}, "CallTime": {CallTime: -1}, "Age": {Age: -1},
	} {
		_, err := transport.NewConnLimiter(l)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, transport.ErrInvalid) {
			t.Errorf("NewConnLimiter(%+v): got error %v, want a *field.Error of %s", l, err, name)
		}
	}
}
