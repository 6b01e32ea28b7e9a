package publish_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/reserve"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// steady returns a report of a node without changes.
func steady(sequence uint64) agent.Report {
	return agent.Report{
		Node: "n", Incarnation: 1, Sequence: sequence, Schema: "s", Avail: 20, Allowance: 4, TypicalCPU: 1, K: 3,
		Pods: []reserve.PodKey{1, 2, 3}, Limiting: "cpu", Channels: []agent.ChannelReport{{Name: "cpu", Usage: .25}},
	}
}

// begun returns a stream that has sent report 1 at epoch.
func begun(accepted bool) *publish.Heartbeats {
	h := &publish.Heartbeats{}
	if accepted {
		h.Accept()
	}
	first := steady(1)
	h.Sent(publish.Full, &first, epoch, 0)
	return h
}

func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name   string
		want   publish.Message
		change func(*agent.Report)
	}{
		{"nothing", publish.Heartbeat, func(*agent.Report) {}},
		{"usage", publish.Heartbeat, func(r *agent.Report) { r.Channels = []agent.ChannelReport{{Name: "cpu", Usage: .5}} }},
		{"k", publish.Heartbeat, func(r *agent.Report) { r.K = 4 }},
		{"time", publish.Heartbeat, func(r *agent.Report) { r.SampledAt = epoch }},
		{"2 % less", publish.Heartbeat, func(r *agent.Report) { r.Avail = 19.6 }},
		{"2 % more", publish.Heartbeat, func(r *agent.Report) { r.Avail = 20.4 }},
		{"over 2 % less", publish.Full, func(r *agent.Report) { r.Avail = 19.59 }},
		{"over 2 % more", publish.Full, func(r *agent.Report) { r.Avail = 20.41 }},
		{"not a number", publish.Full, func(r *agent.Report) { r.Avail = math.NaN() }},
		{"allowance by an eighth", publish.Heartbeat, func(r *agent.Report) { r.Allowance = 4.125 }},
		{"allowance by more", publish.Full, func(r *agent.Report) { r.Allowance = 4.126 }},
		{"pods take a twentieth more", publish.Heartbeat, func(r *agent.Report) { r.TypicalCPU = 1.05 }},
		{"a tenth less", publish.Full, func(r *agent.Report) { r.TypicalCPU = .9 }},
		{"no typical CPU", publish.Full, func(r *agent.Report) { r.TypicalCPU = 0 }},
		{"a pod less", publish.Full, func(r *agent.Report) { r.Pods = r.Pods[:2] }},
		{"another pod", publish.Full, func(r *agent.Report) { r.Pods = []reserve.PodKey{1, 2, 4} }},
		{"saturated", publish.Full, func(r *agent.Report) { r.Saturated = true }},
		{"limiting", publish.Full, func(r *agent.Report) { r.Limiting = "memory" }},
		{"churn", publish.Full, func(r *agent.Report) { r.Flags.Churn = true }},
		{"cost", publish.Full, func(r *agent.Report) { r.Flags.CostUnknown = true }},
		{"pressure", publish.Full, func(r *agent.Report) { r.Flags.NoPressure = true }},
		{"warming up", publish.Full, func(r *agent.Report) { r.Flags.WarmingUp = true }},
		{"schema", publish.Full, func(r *agent.Report) { r.Schema = "t" }},
		{"node", publish.Full, func(r *agent.Report) { r.Node = "m" }},
		{"incarnation", publish.Full, func(r *agent.Report) { r.Incarnation = 2 }},
		{"usage of pods", publish.Full, func(r *agent.Report) { r.PodCores, r.PodWatts = make([]float32, 3), make([]float32, 3) }},
		{"power", publish.Full, func(r *agent.Report) { r.Power = energy.Power{Quality: energy.Measured, Watts: 100} }},
		{"power without a quality", publish.Heartbeat, func(r *agent.Report) { r.Power = energy.Power{Watts: 100} }},
		{"not newer", publish.Full, func(r *agent.Report) { r.Sequence = 1 }},
	} {
		r := steady(2)
		tt.change(&r)
		if got, _ := begun(true).Next(&r, epoch.Add(3*time.Second)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		// A scheduler that does not support heartbeats gets full reports.
		if got, at := begun(false).Next(&r, epoch.Add(time.Millisecond)); got != publish.Full || at.After(epoch.Add(time.Millisecond)) {
			t.Errorf("%s, without heartbeats: %v at %v", tt.name, got, at)
		}
	}
}

// With little room an eighth of a pod counts as a change, and so does whether a pod fits at all.
func TestChangesWithLittleRoom(t *testing.T) {
	for _, tt := range []struct {
		known, now float64
		want       publish.Message
	}{
		{.25, .375, publish.Heartbeat}, {.25, .376, publish.Full}, {-2, -2.125, publish.Heartbeat}, {-2, -2.126, publish.Full},
		{1.05, 1, publish.Heartbeat}, {1, .99, publish.Full}, {.99, 1, publish.Full},
		{-100, -102, publish.Heartbeat}, {-100, -102.1, publish.Full},
	} {
		known, now := steady(1), steady(2)
		known.Avail, now.Avail = tt.known, tt.now
		h := &publish.Heartbeats{}
		h.Accept()
		h.Sent(publish.Full, &known, epoch, 0)
		if got, _ := h.Next(&now, epoch); got != tt.want {
			t.Errorf("avail %v after %v: %v, want %v", tt.now, tt.known, got, tt.want)
		}
	}
}

func TestWhenHeartbeatsAreDue(t *testing.T) {
	next := steady(2)
	for _, tt := range []struct {
		random float64
		want   time.Duration
	}{{0, 2 * time.Second}, {.5, 2250 * time.Millisecond}, {1, 2500 * time.Millisecond}} {
		h := &publish.Heartbeats{}
		first := steady(1)
		if m, at := h.Next(&first, epoch); m != publish.Full || !at.Equal(epoch) {
			t.Errorf("a stream begins with %v at %v", m, at)
		}
		h.Accept()
		h.Sent(publish.Full, &first, epoch, tt.random)
		if m, at := h.Next(&first, epoch); m != publish.Nothing || at.Sub(epoch) != tt.want {
			t.Errorf("random %v: %v of the same report at %v, want nothing before %v", tt.random, m, at.Sub(epoch), tt.want)
		}
		if m, at := h.Next(&next, epoch); m != publish.Heartbeat || at.Sub(epoch) != tt.want {
			t.Errorf("random %v: %v of the next report at %v, want a heartbeat at %v", tt.random, m, at.Sub(epoch), tt.want)
		}
		h.Sent(publish.Nothing, &next, epoch.Add(time.Second), 0)
		if m, at := h.Next(&next, epoch); m != publish.Heartbeat || at.Sub(epoch) != tt.want || h.Base() != 1 {
			t.Errorf("after nothing was sent: %v at %v of %d", m, at.Sub(epoch), h.Base())
		}
	}
	if m, _ := new(publish.Heartbeats).Next(nil, epoch); m != publish.Nothing {
		t.Errorf("without a report: %v", m)
	}
}

// listener is a scheduler at the other end of a stream. It accepts only heartbeats of the report that
// it has.
type listener struct {
	t     *testing.T
	beats publish.Heartbeats
	rng   *rand.Rand

	known              agent.Report // the last full report
	lastMessage, since time.Time    // of the last message, of the last full report
	fulls, heartbeats  int
	messages           []time.Time
}

// at sends what is due of the newest report.
func (l *listener) at(now time.Time, r *agent.Report) {
	l.t.Helper()
	m, at := l.beats.Next(r, now)
	if m == publish.Nothing || at.After(now) {
		return
	}
	l.beats.Sent(m, r, now, l.rng.Float64())
	switch {
	case m == publish.Full:
		l.known, l.since = *r, now
		l.fulls++
	case l.beats.Base() != l.known.Sequence || r.Sequence <= l.known.Sequence || r.Incarnation != l.known.Incarnation:
		l.t.Fatalf("heartbeat %d of report %d where %d is known", r.Sequence, l.beats.Base(), l.known.Sequence)
	case now.Sub(l.lastMessage) < 2*time.Second:
		l.t.Fatalf("a heartbeat %v after the last message", now.Sub(l.lastMessage))
	default:
		l.heartbeats++
	}
	l.lastMessage = now
	l.messages = append(l.messages, now)
}

// TestStreamOverTime follows frequently changing nodes through virtual time. At every moment the
// scheduler must know the node within the tolerances and have had a message recently.
func TestStreamOverTime(t *testing.T) {
	const step, report = 10 * time.Millisecond, time.Second
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := &listener{t: t, rng: rng}
		restless := rng.Float64() * .3
		changes := 0
		first := steady(1)
		current := &first
		accepted := epoch.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
		due := epoch
		for now := epoch; now.Before(epoch.Add(5 * time.Minute)); now = now.Add(step) {
			if !now.Before(accepted) {
				l.beats.Accept()
			}
			if !now.Before(due) {
				due = due.Add(report + time.Duration(rng.IntN(10)-5)*step)
				next := steady(current.Sequence + 1)
				next.Avail, next.Pods = current.Avail+.03*rng.NormFloat64(), current.Pods
				if rng.Float64() < restless {
					next.Avail = 40 * (rng.Float64() - .2)
					changes++
				}
				if rng.Float64() < restless {
					next.Pods = append(slices.Clone(next.Pods), reserve.PodKey(100+next.Sequence))
					changes++
				}
				current = &next
			}
			l.at(now, current)
			if silent := now.Sub(l.lastMessage); silent > 2500*time.Millisecond+step {
				t.Fatalf("seed %d: no message for %v", seed, silent)
			}
			if old := now.Sub(l.since); old > 33*time.Second {
				t.Fatalf("seed %d: no full report for %v", seed, old)
			}
			if !slices.Equal(l.known.Pods, current.Pods) {
				t.Fatalf("seed %d: the scheduler knows other pods", seed)
			}
			if d := math.Abs(l.known.Avail - current.Avail); d > max(.125, .02*math.Abs(l.known.Avail)) {
				t.Fatalf("seed %d: got room for %v pods at the scheduler, the node has %v", seed, l.known.Avail, current.Avail)
			}
		}
		if l.heartbeats == 0 || l.fulls > changes+60 {
			t.Errorf("seed %d: %d full reports of %d changes, %d heartbeats", seed, l.fulls, changes, l.heartbeats)
		}
	}
}

// TestPowerIsNeverOld: a scheduler gets a full report of a node with measured power at least every five
// seconds, and the usage of its pods at once.
func TestPowerIsNeverOld(t *testing.T) {
	const step = 10 * time.Millisecond
	for seed := range uint64(10) {
		l := &listener{t: t, rng: rand.New(rand.NewPCG(seed, 3))}
		l.beats.Accept()
		var current *agent.Report
		for now := epoch; now.Before(epoch.Add(2 * time.Minute)); now = now.Add(step) {
			if second := now.Sub(epoch); second%time.Second == 0 {
				next := steady(uint64(second/time.Second) + 1)
				next.Power = energy.Power{Quality: energy.Measured, Watts: 60 + l.rng.Float64()}
				if seed%2 == 0 && second%(7*time.Second) == 0 {
					next.PodCores, next.PodWatts = []float32{1, 2, float32(next.Sequence)}, make([]float32, 3)
				}
				current = &next
			}
			l.at(now, current)
			if old := now.Sub(l.since); old > 5*time.Second {
				t.Fatalf("seed %d: no full report for %v", seed, old)
			}
			if len(current.PodCores) > 0 && l.known.Sequence != current.Sequence {
				t.Fatalf("seed %d: report %d arrived without the pods' cores", seed, current.Sequence)
			}
		}
		if l.heartbeats == 0 {
			t.Errorf("seed %d: no heartbeat", seed)
		}
	}
}

// TestFleetDesynchronizes: nodes that all start at the same moment, as when a scheduler starts, and
// report in step must not keep sending in step.
func TestFleetDesynchronizes(t *testing.T) {
	const (
		nodes       = 1000
		step        = 50 * time.Millisecond
		first, last = time.Minute, 75 * time.Second
	)
	rng := rand.New(rand.NewPCG(1, 2))
	sent := map[time.Duration]int{}
	total := 0
	for range nodes {
		l := &listener{t: t, rng: rng}
		l.beats.Accept()
		var r *agent.Report
		for at := time.Duration(0); at < last; at += step {
			if at%time.Second == 0 {
				next := steady(uint64(at/time.Second) + 1)
				r = &next
			}
			l.at(epoch.Add(at), r)
		}
		for _, at := range l.messages {
			if at := at.Sub(epoch); at >= first {
				sent[at.Truncate(2*step)]++
				total++
			}
		}
	}
	mean := total / int((last-first)/(2*step))
	for at, n := range sent {
		if n > 2*mean {
			t.Errorf("%d messages in the tenth of a second from %v on, %d in the mean", n, at, mean)
		}
	}
}

// TestHeartbeatsOnTheWire: a scheduler that accepts heartbeats gets one, and the next change at once
// and in full; a scheduler that does not ask for them gets every report. Each stream begins with a full
// report.
func TestHeartbeatsOnTheWire(t *testing.T) {
	modern, old := newPeer(t), newPeer(t)
	modern.notice = &spaziov1.Notice{Event: &spaziov1.Notice_TakesHeartbeats{TakesHeartbeats: true}}
	modern.start()
	old.start()
	registry := prometheus.NewRegistry()
	notices := make(chan *spaziov1.Notice, 1)
	s := signals(t, publish.SignalsConfig{
		Targets: []string{modern.addr, old.addr}, Registerer: registry,
		OnNotice: func(_ string, n *spaziov1.Notice) { notices <- n },
	})
	sequence := uint64(0)
	send := func(avail float64) {
		sequence++
		r := steady(sequence)
		r.Avail = avail
		s.Send(r, time.Now())
		if got := receive(t, old.reports); got.GetSequence() != sequence || api.IsHeartbeat(got) || got.GetNode() != "n" {
			t.Fatalf("a scheduler without heartbeats got %v, want report %d", got, sequence)
		}
	}
	full := func() {
		t.Helper()
		if got := receive(t, modern.reports); api.IsHeartbeat(got) || got.GetNode() != "n" || got.GetSequence() != sequence {
			t.Fatalf("got %v, want report %d in full", got, sequence)
		}
	}
	send(20)
	full()
	waitFor(t, "the notice is counted", func() bool { return value(t, registry, "spazio_signal_notices_total", modern.addr) == 1 })
	base := sequence
	send(20.1)
	send(20.2)
	beat, err := api.ToHeartbeat(receive(t, modern.reports))
	if err != nil || beat.Unchanged != base || beat.Sequence != sequence || beat.SampleAge <= 0 {
		t.Fatalf("got %+v, %v, want a heartbeat of report %d", beat, err, base)
	}
	// The heartbeat is counted when it is handed to the transport, which may be after its arrival.
	waitFor(t, "the heartbeat is counted", func() bool {
		messages := value(t, registry, "spazio_signal_report_age_seconds", modern.addr)
		return messages-value(t, registry, "spazio_signal_reports_total", modern.addr) == 1
	})
	send(30)
	full()
	if got := value(t, registry, "spazio_signal_reports_missed_total", modern.addr); got != 0 {
		t.Errorf("got %v missed reports, want 0: reports that a heartbeat replaces are not missed", got)
	}
	send(30.1)
	modern.kill()
	modern.start()
	full()
	if len(notices) > 0 {
		t.Errorf("the agent got notice %v", <-notices)
	}
}
