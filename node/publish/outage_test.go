package publish_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// The log has a line for each outage of the scheduler, not only for the first; no stream counts as open
// during one.
func TestEachSchedulerOutageIsLogged(t *testing.T) {
	p, log, registry := newPeer(t), &transporttest.Journal{}, prometheus.NewRegistry()
	p.start()
	s := signals(t, publish.SignalsConfig{Targets: []string{p.addr}, Logger: slog.New(log), Registerer: registry})
	open := func() float64 { return value(t, registry, "spazio_signal_streams", p.addr) }
	const away = "no stream to the scheduler; trying again"
	for outage := range 3 {
		// A stream that lasts longer than the longest wait counts as having worked; one that ends
		// sooner continues the backoff and is not logged.
		s.Send(report(uint64(outage+1)), time.Now())
		waitFor(t, "a stream", func() bool { return open() == 1 })
		for began := time.Now(); time.Since(began) < 60*soon; {
			time.Sleep(soon)
		}
		failures := value(t, registry, "spazio_signal_failures_total", p.addr)
		p.kill()
		waitFor(t, "three failures", func() bool { return value(t, registry, "spazio_signal_failures_total", p.addr) >= failures+3 })
		if got := log.Count(away); got <= outage { // more where connecting takes long
			t.Fatalf("got %d log lines, want %d", got, outage+1)
		}
		if n := open(); n != 0 {
			t.Fatalf("got %v open streams to an unavailable scheduler, want 0", n)
		}
		p.start()
	}
}

// The same holds for the aggregator, whose accepted pushes are counted.
func TestEachAggregatorOutageIsLogged(t *testing.T) {
	p, log, registry := newPeer(t), &transporttest.Journal{}, prometheus.NewRegistry()
	p.answer = &spaziov1.PushResponse{}
	p.start()
	m := models(t, publish.ModelsConfig{
		Target: p.addr, Staleness: publish.Staleness{MinInterval: soon, MaxAge: 2 * soon},
		Logger: slog.New(log), Registerer: registry,
	})
	counted := func(name string) float64 { return value(t, registry, name, "") }
	m.Offer(local(1, 0, 1))
	for outage := range 3 {
		pushes := counted("spazio_model_pushes_total")
		waitFor(t, "a push", func() bool { m.Offer(local(2, 0, 1)); return counted("spazio_model_pushes_total") > pushes })
		failures := counted("spazio_model_failures_total")
		p.kill()
		waitFor(t, "three failures", func() bool { return counted("spazio_model_failures_total") >= failures+3 })
		if got := log.Count("the aggregator did not take the model of the node; it is sent again"); got != outage+1 {
			t.Fatalf("got %d log lines, want %d", got, outage+1)
		}
		p.start()
	}
}

// An aggregator without a fleet model answers a push without one.
func TestPushWithoutFleetModel(t *testing.T) {
	p, registry := newPeer(t), prometheus.NewRegistry()
	p.answer = &spaziov1.PushResponse{}
	p.start()
	m := models(t, publish.ModelsConfig{Target: p.addr, Registerer: registry, OnFleet: func(f agent.Fleet) {
		t.Errorf("got fleet %+v, want none", f)
	}})
	m.Offer(local(1, 0, 1))
	waitFor(t, "a push that is counted", func() bool { return value(t, registry, "spazio_model_pushes_total", "") == 1 })
}
