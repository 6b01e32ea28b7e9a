package publish_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// TestTokenIsReadForEachStream also checks that the profiler gets the token.
func TestTokenIsReadForEachStream(t *testing.T) {
	tls := transporttest.SelfSigned(t, "127.0.0.1")
	p := newPeer(t)
	p.tls = transport.Config{CertFile: tls.CertFile, KeyFile: tls.KeyFile, Tokens: true}
	shown := make(chan string, 1<<10)
	p.report = func(stream spaziov1.UsageService_ReportServer) error {
		for _, value := range metadata.ValueFromIncomingContext(stream.Context(), "authorization") {
			shown <- value
		}
		return status.Error(codes.Unauthenticated, "show another")
	}
	p.start()
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil { // as the kubelet does
			t.Fatal(err)
		}
	}
	write("first")
	usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Transport: transport.Config{CAFile: tls.CAFile}, TokenFile: file}).read(1)
	waitFor(t, "the first token", func() bool { return receive(t, shown) == "Bearer first" })
	write("second")
	waitFor(t, "the second token", func() bool { return receive(t, shown) == "Bearer second" })
}

// TestUserAgent checks that a peer gets the agent's version.
func TestUserAgent(t *testing.T) {
	p := newPeer(t)
	shown := make(chan string, 1<<10)
	p.report = func(stream spaziov1.UsageService_ReportServer) error {
		for _, value := range metadata.ValueFromIncomingContext(stream.Context(), "user-agent") {
			shown <- value
		}
		return status.Error(codes.Unavailable, "enough")
	}
	p.start()
	usages(t, publish.UsagesConfig{Targets: []string{p.addr}}).read(1)
	name := receive(t, shown)
	if product, _, _ := strings.Cut(name, " "); product != "spazio-agent/"+build.Version() {
		t.Errorf("got user agent %q", name)
	}
}

// TestShortSessionsAreOneOutage: a session that ends before the longest wait is over has not worked, so
// its outage is logged once.
func TestShortSessionsAreOneOutage(t *testing.T) {
	p, log := newPeer(t), &transporttest.Journal{}
	p.refuse = func(*spaziov1.UsageBatch) error { return status.Error(codes.Unavailable, "not now") }
	p.start()
	u, err := publish.NewUsages(publish.UsagesConfig{
		Node: "node-1", Incarnation: 1, Targets: []string{p.addr}, Logger: slog.New(log),
		Backoff: publish.Backoff{Min: time.Millisecond, Max: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, u.Run)
	a := &usageAgent{u, time.Now()}
	a.read(1)
	for range 5 {
		a.nextBatch(t, p)
	}
	if n := log.Count("no stream to the profiler; trying again"); n != 1 {
		t.Errorf("got %d log lines, want 1", n)
	}
}

// TestLostReadingsAreCounted: a reading whose counter runs backwards is lost, not sent.
func TestLostReadingsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	u, err := publish.NewUsages(publish.UsagesConfig{Node: "node-1", Incarnation: 1, Targets: []string{"127.0.0.1:1"}, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i, cpu := range []time.Duration{1000, 500, 700} { // ms
		age := time.Duration(i+1) * time.Second
		u.Take(began.Add(age), []agent.PodReading{{Pod: 1, Age: age, CPU: cpu * time.Millisecond}})
		if lost, want := value(t, registry, dropped, ""), float64(min(i, 1)); lost != want {
			t.Errorf("after %d readings: got %v lost, want %v", i+1, lost, want)
		}
	}
}
