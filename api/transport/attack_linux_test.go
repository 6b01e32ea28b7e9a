package transport_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// loopback returns the n-th loopback address.
func loopback(n int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 1, byte(n)}) }

// hold opens connections from each address until release; speak sends their first bytes. Refusals by
// the server are no failure.
func hold(t *testing.T, target string, addresses, each int, speak func(net.Conn)) (release func()) {
	t.Helper()
	var all []net.Conn
	for range each {
		for n := range addresses {
			dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(loopback(n+1), 0))}
			conn, err := dialer.DialContext(t.Context(), "tcp", target)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, conn)
			speak(conn)
		}
	}
	return func() {
		for _, conn := range all {
			conn.Close()
		}
	}
}

// patience is how long callers wait on a slow machine. It is less than the tenth of an hour after which
// a connection with an hour to authenticate may be displaced.
const patience = 5 * time.Minute

// pushes opens so many connections from an address at once, each of which must be served.
func pushes(t *testing.T, target string, from netip.Addr, identity transport.Config, n int) {
	t.Helper()
	options, err := transport.DialOptions(target, transport.Config{CAFile: identity.CertFile})
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		return dialer.DialContext(ctx, "tcp", addr)
	}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all sync.WaitGroup
	for range n {
		all.Add(1)
		go func() {
			defer all.Done()
			connection, err := grpc.NewClient(target, options...)
			if err != nil {
				t.Error(err)
				return
			}
			defer connection.Close()
			push := &spaziov1.PushRequest{Local: &spaziov1.LocalModel{Node: "node"}}
			if _, err := spaziov1.NewModelServiceClient(connection).Push(ctx, push, grpc.WaitForReady(true)); err != nil {
				t.Errorf("from %s: %v", from, err)
			}
		}()
	}
	all.Wait()
}

// TestHonestCallersGetIn: whatever unauthenticated connections others hold, a hundred new connections
// of one address are served without waiting for a timeout, which is an hour.
func TestHonestCallersGetIn(t *testing.T) {
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	half := func(c net.Conn) { _, _ = c.Write([]byte{22}) } // the first byte of a handshake
	for name, attack := range map[string]struct {
		addresses, each int
		speak           func(net.Conn)
	}{
		"silent, of two addresses":    {2, 650, func(net.Conn) {}},
		"silent, of many addresses":   {13, 100, func(net.Conn) {}},
		"half open, of two addresses": {2, 650, half},
		"half open, of many":          {13, 100, half},
	} {
		t.Run(name, func(t *testing.T) {
			target, guard, stop := listenWithin(t, transport.Limits{Connections: 1200, Handshake: time.Hour}, identity, admitting{})
			defer stop()
			defer hold(t, target, attack.addresses, attack.each, attack.speak)()
			pushes(t, target, loopback(200), identity, 100)
			if s := guard.Stats(); s.Unauthenticated > 1024+128 || s.Waiting > 1024 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestNeighboursOfSilentOnesGetIn: connections from the same address as silent ones, as behind one NAT,
// are served as well after a moment.
func TestNeighboursOfSilentOnesGetIn(t *testing.T) {
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	target, _, stop := listenWithin(t, transport.Limits{Connections: 1200, Handshake: 20 * time.Second}, identity, admitting{})
	defer stop()
	defer hold(t, target, 2, 650, func(net.Conn) {})()
	pushes(t, target, loopback(1), identity, 10)
}

// TestUnauthenticatedCallsUseUpNothing: endless calls on connections that were not admitted do not reduce
// what other callers may have.
func TestUnauthenticatedCallsUseUpNothing(t *testing.T) {
	target, guard, stop := listenWithin(t, transport.Limits{Calls: 8, CallsOfOne: 4, CallTime: time.Hour}, transport.Config{}, admitting{})
	defer stop()
	var all []*transporttest.Intruder
	open := func(all []*transporttest.Intruder) (n int) {
		for _, i := range all {
			if i.Served() {
				n += i.Open()
			}
		}
		return n
	}
	for n := range 8 {
		for range 40 {
			i := intrude(t, target, loopback(n+1))
			all = append(all, i)
			for range 4 {
				if err := i.Head(spaziov1.ModelService_Push_FullMethodName, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	eventually(t, "all calls have begun", func() bool { return open(all) == 8*40*4 })
	for range 20 {
		if _, err := pushFrom(t, target, loopback(200), "node"); err != nil {
			t.Error(err)
		}
	}
	greedy := intrude(t, target, loopback(100))
	// Its fifth call is over the limit once the server has seen the others' calls.
	eventually(t, "a call over the limit ends the connection", func() bool {
		_ = greedy.Head(spaziov1.ModelService_Push_FullMethodName, "")
		select {
		case <-greedy.Done():
			return true
		default:
			return false
		}
	})
	if s := guard.Stats(); s.Calls != 0 || s.Overcalled != 1 {
		t.Errorf("got %+v, want no calls of admitted callers, one connection closed", s)
	}
}

// TestAKnownAddressComesBack: while unauthenticated callers of many addresses have all places, and have
// all sent something, an address that was admitted before is served although all have most of an hour
// left, and a new one waits.
func TestAKnownAddressComesBack(t *testing.T) {
	target, guard, stop := listenWithin(t, transport.Limits{Handshake: time.Hour}, transport.Config{}, admitting{})
	defer stop()
	leave, err := pushFrom(t, target, loopback(200), "node")
	if err != nil {
		t.Fatal(err)
	}
	leave()
	eventually(t, "its connection is closed", func() bool { return guard.Stats().Connections == 0 })
	for n := range 1024 { // one of each address, so that no address has more than another
		intrude(t, target, netip.AddrFrom4([4]byte{127, 1, byte(n >> 8), byte(n)}))
	}
	eventually(t, "all are served", func() bool { return guard.Stats().Unauthenticated == 1024 })
	intrude(t, target, loopback(201))
	eventually(t, "a new address waits", func() bool { return guard.Stats().Waiting == 1 })
	if _, err := pushFrom(t, target, loopback(200), "node"); err != nil {
		t.Error(err)
	}
	if s := guard.Stats(); s.Refused != 0 || s.Waiting != 1 {
		t.Errorf("%+v, want none refused", s)
	}
}
