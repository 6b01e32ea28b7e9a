package publish_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// names is a resolver with one host name.
type names struct {
	mu    sync.Mutex
	addrs []netip.Addr
	err   error
	asked int
}

func (n *names) set(err error, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err, n.addrs = err, nil
	for _, a := range addrs {
		n.addrs = append(n.addrs, netip.MustParseAddr(a))
	}
}

func (n *names) lookups() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

func (n *names) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if network != "ip" || host != "localhost" && host != "schedulers.test" {
		return nil, fmt.Errorf("lookup of %s in %s", host, network)
	}
	return n.addrs, n.err
}

// replicas are schedulers at 127.0.0.1, 127.0.0.2, ... with one port.
func replicas(t *testing.T, n int) ([]*peer, string) {
	t.Helper()
	for range 100 {
		first := newPeer(t)
		first.start()
		_, port, err := net.SplitHostPort(first.addr)
		if err != nil {
			t.Fatal(err)
		}
		peers := []*peer{first}
		for i := 1; i < n; i++ {
			p := newPeer(t)
			p.addr = fmt.Sprintf("127.0.0.%d:%s", i+1, port)
			if l, err := net.Listen("tcp", p.addr); err == nil {
				l.Close()
				p.start()
				peers = append(peers, p)
			}
		}
		if len(peers) == n {
			return peers, port
		}
	}
	t.Fatal("no port is free on all addresses")
	return nil, ""
}

func TestEveryReplicaOfANameGetsReports(t *testing.T) {
	peers, port := replicas(t, 3)
	resolver := &names{}
	resolver.set(nil, "127.0.0.1", "127.0.0.2", "::ffff:127.0.0.3", "::1") // the last is another family
	s := signals(t, publish.SignalsConfig{Targets: []string{"dns:///localhost:" + port}, Resolver: resolver})
	for i := range uint64(10) {
		s.Send(report(i), time.Now())
		for _, p := range peers {
			arrives(t, p, i)
		}
	}
	waitFor(t, "three streams", func() bool { return s.Connected() == 3 })
}

func TestReplicasComeAndGo(t *testing.T) {
	peers, port := replicas(t, 2)
	resolver, registry := &names{}, prometheus.NewRegistry()
	resolver.set(nil, "127.0.0.1")
	s := signals(t, publish.SignalsConfig{
		Targets: []string{"dns:///localhost:" + port}, Resolver: resolver, Refresh: 10 * soon, Registerer: registry,
	})
	s.Send(report(1), time.Now())
	arrives(t, peers[0], 1)
	resolver.set(nil, "127.0.0.1", "127.0.0.2")
	arrives(t, peers[1], 1) // the newest, without another Send
	resolver.set(nil, "127.0.0.2")
	for _, name := range []string{
		"spazio_signal_reports_total", "spazio_signal_reports_missed_total", "spazio_signal_failures_total",
		"spazio_signal_notices_total", "spazio_signal_streams", "spazio_signal_report_age_seconds",
	} {
		waitFor(t, "the end of the first stream's "+name, func() bool { return value(t, registry, name, peers[0].addr) < 0 })
		if value(t, registry, name, peers[1].addr) < 0 {
			t.Errorf("no %s of the second stream", name)
		}
	}
	s.Send(report(2), time.Now())
	arrives(t, peers[1], 2)
	resolver.set(nil, "127.0.0.1", "127.0.0.2")
	arrives(t, peers[0], 2)
}

func TestNameServerOutageChangesNothing(t *testing.T) {
	for name, outage := range map[string]error{
		"failure":      errors.New("server misbehaving"),
		"no such host": &net.DNSError{Err: "no such host", IsNotFound: true},
		"no addresses": nil,
	} {
		t.Run(name, func(t *testing.T) {
			peers, port := replicas(t, 1)
			resolver, registry := &names{}, prometheus.NewRegistry()
			resolver.set(nil, "127.0.0.1")
			s := signals(t, publish.SignalsConfig{
				Targets: []string{"dns:///localhost:" + port}, Resolver: resolver, Refresh: soon, Registerer: registry,
			})
			s.Send(report(1), time.Now())
			arrives(t, peers[0], 1)
			resolver.set(outage)
			failed := resolver.lookups()
			waitFor(t, "failed lookups", func() bool { return resolver.lookups() > failed+2 })
			s.Send(report(2), time.Now())
			arrives(t, peers[0], 2)
			// A stream that was closed and opened again would count from 0.
			waitFor(t, "the first stream's second report", func() bool {
				return value(t, registry, "spazio_signal_reports_total", peers[0].addr) == 2
			})
		})
	}
}

func TestLostReplicaIsLookedUpAtOnce(t *testing.T) {
	peers, port := replicas(t, 2)
	resolver := &names{}
	resolver.set(nil, "127.0.0.1")
	s := signals(t, publish.SignalsConfig{
		Targets: []string{"dns:///localhost:" + port}, Resolver: resolver, Refresh: 24 * time.Hour,
	})
	s.Send(report(1), time.Now())
	arrives(t, peers[0], 1)
	resolver.set(nil, "127.0.0.2")
	peers[0].kill() // as if rescheduled to another address
	arrives(t, peers[1], 1)
	if n := resolver.lookups(); n < 2 {
		t.Errorf("%d lookups", n)
	}
}

func TestListedAndResolvedReplicaHasOneStream(t *testing.T) {
	peers, port := replicas(t, 2)
	resolver, registry := &names{}, prometheus.NewRegistry()
	resolver.set(nil, "127.0.0.1", "127.0.0.2")
	s := signals(t, publish.SignalsConfig{
		Targets:  []string{"dns:///localhost:" + port, peers[0].addr, "dns:localhost:" + port},
		Resolver: resolver, Refresh: soon, Registerer: registry,
	})
	s.Send(report(1), time.Now())
	arrives(t, peers[0], 1)
	arrives(t, peers[1], 1)
	asked := resolver.lookups()
	waitFor(t, "more lookups", func() bool { return resolver.lookups() > asked+5 })
	if n := s.Connected(); n != 2 {
		t.Errorf("%d streams, want 2", n)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	resolver, registry := &names{}, prometheus.NewRegistry()
	var many []string
	for i := range 2 * publish.MaxTargets {
		many = append(many, fmt.Sprintf("127.0.1.%d", i+1))
	}
	resolver.set(nil, many...)
	signals(t, publish.SignalsConfig{Targets: []string{"dns:///localhost:1"}, Resolver: resolver, Refresh: soon, Registerer: registry})
	waitFor(t, "lookups", func() bool { return resolver.lookups() > 5 })
	if n, err := testutil.GatherAndCount(registry, "spazio_signal_failures_total"); err != nil || n != publish.MaxTargets {
		t.Errorf("%d targets, %v, want %d", n, err, publish.MaxTargets)
	}
}

// TestLeftOutIsLoggedAgain fills the streams, frees one, and fills them again.
func TestLeftOutIsLoggedAgain(t *testing.T) {
	resolver, log := &names{}, &transporttest.Journal{}
	var many []string
	for i := range publish.MaxTargets + 1 {
		many = append(many, fmt.Sprintf("127.0.1.%d", i+1))
	}
	signals(t, publish.SignalsConfig{
		Targets: []string{"dns:///localhost:1"}, Resolver: resolver, Refresh: soon, Logger: slog.New(log),
	})
	const leftOut = "scheduler gets no reports"
	resolver.set(nil, many...)
	waitFor(t, "one left out", func() bool { return log.Count(leftOut) > 0 })
	lookups := resolver.lookups()
	waitFor(t, "lookups", func() bool { return resolver.lookups() > lookups+3 })
	if got := log.Count(leftOut); got != 1 {
		t.Fatalf("%d lines", got)
	}
	found := log.Count("scheduler found")
	resolver.set(nil, "127.0.2.1")
	waitFor(t, "room", func() bool { return log.Count("scheduler found") > found })
	resolver.set(nil, many...)
	waitFor(t, "one left out again", func() bool { return log.Count(leftOut) > 1 })
}

// TestCertificateIsForTheName connects to an address whose certificate names the service, and rejects a
// certificate for another name.
func TestCertificateIsForTheName(t *testing.T) {
	for _, tt := range []struct {
		name    string
		reaches bool
	}{{"schedulers.test", true}, {"other.test", false}} {
		p := newPeer(t)
		p.tls = transporttest.SelfSigned(t, tt.name)
		p.tls.CAFile = ""
		p.start()
		_, port, err := net.SplitHostPort(p.addr)
		if err != nil {
			t.Fatal(err)
		}
		resolver, registry := &names{}, prometheus.NewRegistry()
		resolver.set(nil, "127.0.0.1")
		s := signals(t, publish.SignalsConfig{
			Targets: []string{"dns:///schedulers.test:" + port}, Resolver: resolver, Registerer: registry,
			Transport: transport.Config{CAFile: p.tls.CertFile},
		})
		s.Send(report(1), time.Now())
		if tt.reaches {
			arrives(t, p, 1)
			continue
		}
		waitFor(t, "refusals", func() bool { return value(t, registry, "spazio_signal_failures_total", p.addr) > 2 })
		if len(p.reports) > 0 {
			t.Errorf("a report for %s", tt.name)
		}
	}
}
