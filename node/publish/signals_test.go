package publish_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node/publish"
)

func signals(t *testing.T, c publish.SignalsConfig) *publish.Signals {
	t.Helper()
	c.Backoff = publish.Backoff{Min: soon, Max: 50 * soon}
	s, err := publish.NewSignals(c)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.Run)
	return s
}

func report(sequence uint64) agent.Report {
	return agent.Report{Node: "n", Incarnation: 1, Sequence: sequence, Avail: float64(sequence)}
}

// arrives waits until the report with the sequence number is received; older reports may precede it,
// newer ones must not.
func arrives(t *testing.T, p *peer, sequence uint64) {
	t.Helper()
	for {
		got := receive(t, p.reports).GetSequence()
		if got > sequence {
			t.Fatalf("got report %d before %d", got, sequence)
		}
		if got == sequence {
			return
		}
	}
}

func TestEverySchedulerGetsReports(t *testing.T) {
	one, two := newPeer(t), newPeer(t)
	one.start()
	two.start()
	s := signals(t, publish.SignalsConfig{Targets: []string{one.addr, two.addr}})
	for i := range uint64(20) {
		s.Send(report(i), time.Now())
		arrives(t, one, i)
		arrives(t, two, i)
	}
}

func TestRestartedSchedulerGetsTheNewestReport(t *testing.T) {
	killed, other := newPeer(t), newPeer(t)
	killed.start()
	other.start()
	registry := prometheus.NewRegistry()
	s := signals(t, publish.SignalsConfig{Targets: []string{killed.addr, other.addr}, Registerer: registry})
	s.Send(report(1), time.Now())
	arrives(t, killed, 1)
	arrives(t, other, 1)
	killed.kill()
	newest := uint64(1)
	waitFor(t, "reports that were missed", func() bool { // and not just before the end of the stream is noticed
		newest++
		s.Send(report(newest), time.Now())
		arrives(t, other, newest) // a stream without an outage
		return newest > 50 && value(t, registry, "spazio_signal_reports_missed_total", killed.addr) > 0
	})
	killed.start() // and nothing is sent afterwards
	if first := receive(t, killed.reports).GetSequence(); first != newest {
		t.Errorf("the first report after the restart is %d, want the newest, %d", first, newest)
	}
	for name, want := range map[string]bool{
		"spazio_signal_reports_total": true, "spazio_signal_reports_missed_total": true,
		"spazio_signal_failures_total": true, "spazio_signal_streams": true, "spazio_signal_report_age_seconds": true,
	} {
		waitFor(t, name, func() bool { return (value(t, registry, name, killed.addr) > 0) == want })
	}
	waitFor(t, "both streams", func() bool { return s.Connected() == 2 })
}

// TestLateReportsCarryTheirAge: a report's age is measured when it is sent, not when it is made, also
// on a new stream that begins with an old report.
func TestLateReportsCarryTheirAge(t *testing.T) {
	late := newPeer(t)
	s := signals(t, publish.SignalsConfig{Targets: []string{late.addr}})
	const before = time.Hour
	sampled := time.Now().Add(-before)
	s.Send(report(1), sampled)
	late.start()
	first := time.Duration(receive(t, late.reports).GetSampleAgeNanos())
	if most := time.Since(sampled); first < before || first > most {
		t.Errorf("a report of a sample taken %v to %v ago arrives at the age of %v", before, most, first)
	}
	late.kill()
	late.start()
	again := time.Duration(receive(t, late.reports).GetSampleAgeNanos())
	if most := time.Since(sampled); again <= first || again > most {
		t.Errorf("sent again the report is %v old, want more than %v and at most %v", again, first, most)
	}
	s.Send(report(2), time.Now().Add(time.Hour))
	for {
		if m := receive(t, late.reports); m.GetSequence() == 2 {
			if age := m.GetSampleAgeNanos(); age != 0 {
				t.Errorf("a sample from the future is %d ns old", age)
			}
			return
		}
	}
}

func TestSchedulerThatStartsLate(t *testing.T) {
	late := newPeer(t)
	s := signals(t, publish.SignalsConfig{Targets: []string{late.addr}})
	s.Send(report(1), time.Now())
	s.Send(report(2), time.Now())
	late.start()
	arrives(t, late, 2)
}

// TestSendDoesNotBlock fills a stream that has no reader far beyond its window and expects the newest
// report at its end.
func TestSendDoesNotBlock(t *testing.T) {
	stuck := newPeer(t)
	stuck.hold = make(chan struct{})
	stuck.start()
	s := signals(t, publish.SignalsConfig{Targets: []string{stuck.addr}})
	const last = 20_000
	for i := range uint64(last) {
		s.Send(report(i+1), time.Now())
	}
	close(stuck.hold)
	arrives(t, stuck, last)
}

func TestNotices(t *testing.T) {
	p := newPeer(t)
	p.notice = &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{PodBound: &spaziov1.PodBound{Pod: 42}}}
	p.start()
	type notice struct {
		target string
		pod    uint64
	}
	notices := make(chan notice, 1)
	signals(t, publish.SignalsConfig{
		Targets:  []string{p.addr},
		OnNotice: func(target string, n *spaziov1.Notice) { notices <- notice{target, n.GetPodBound().GetPod()} },
	})
	if got, want := receive(t, notices), (notice{p.addr, 42}); got != want {
		t.Errorf("notice %v, want %v", got, want)
	}
}

// TestReplacedReportsAreCounted sends before any stream can take a report.
func TestReplacedReportsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, err := publish.NewSignals(publish.SignalsConfig{Targets: []string{"127.0.0.1:1"}, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(5) {
		s.Send(report(i), time.Now())
	}
	if got := value(t, registry, "spazio_signal_reports_missed_total", "127.0.0.1:1"); got != 4 {
		t.Errorf("%v reports missed, want 4 of 5", got)
	}
}

// TestAgentsShareARegistry counts the streams of two agents of one process.
func TestAgentsShareARegistry(t *testing.T) {
	p := newPeer(t)
	p.start()
	registry := prometheus.NewRegistry()
	for range 2 {
		signals(t, publish.SignalsConfig{Targets: []string{p.addr}, Registerer: registry}).Send(report(1), time.Now())
	}
	arrives(t, p, 1)
	arrives(t, p, 1)
	for _, name := range []string{"spazio_signal_reports_total", "spazio_signal_streams"} {
		if n, err := testutil.GatherAndCount(registry, name); err != nil || n != 1 {
			t.Errorf("%d series of %s, %v", n, name, err)
		}
	}
}

func TestSignalsFieldErrors(t *testing.T) {
	for name, c := range map[string]publish.SignalsConfig{
		"empty target":    {Targets: []string{""}},
		"plain token":     {Targets: []string{"127.0.0.1:1"}, TokenFile: "token"},
		"repeated target": {Targets: []string{"127.0.0.1:1", "127.0.0.1:1"}},
		"too many":        {Targets: make([]string, publish.MaxTargets+1)},
		"refresh":         {Refresh: -1},
		"DNS server":      {Targets: []string{"dns://127.0.0.1/localhost:9690"}},
		"no port":         {Targets: []string{"dns:///localhost"}},
		"no host":         {Targets: []string{"dns:///:9690"}},
		"port zero":       {Targets: []string{"dns:///localhost:0"}},
		"named port":      {Targets: []string{"dns:localhost:grpc"}},
		"backoff":         {Backoff: publish.Backoff{Min: time.Second, Max: time.Millisecond}},
		"negative":        {Backoff: publish.Backoff{Min: -1}},
	} {
		_, err := publish.NewSignals(c)
		var bad *field.Error
		if !errors.As(err, &bad) || !errors.Is(err, publish.ErrInvalid) {
			t.Errorf("%s: %v, want a *field.Error", name, err)
		}
	}
	for _, target := range []string{"scheduler:9690", "dns:///scheduler:9690"} {
		_, err := publish.NewSignals(publish.SignalsConfig{Targets: []string{target}})
		var refused *transport.PlaintextError
		if !errors.As(err, &refused) {
			t.Errorf("plaintext beyond loopback to %s: %v", target, err)
		}
	}
}

func ExampleBackoff_Delay() {
	b := publish.Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for i := range 5 {
		fmt.Println(b.Delay(i, 0), "to", b.Delay(i, 1))
	}
	// Output:
	// 50ms to 100ms
	// 100ms to 200ms
	// 200ms to 400ms
	// 400ms to 800ms
	// 500ms to 1s
}

func TestBackoffStaysInBounds(t *testing.T) {
	b := publish.Backoff{}
	for i := range 1000 {
		if d := b.Delay(i, .999); d < 50*time.Millisecond || d > 5*time.Second {
			t.Fatalf("retry %d waits %v", i, d)
		}
	}
}
