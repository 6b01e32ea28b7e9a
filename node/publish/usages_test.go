package publish_test

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	dropped     = "spazio_agent_windows_dropped_total"
	refusedLine = "profiler refuses a batch; its windows are dropped"
)

// usageAgent is an agent that measures the pods of its node.
type usageAgent struct {
	*publish.Usages
	at time.Time
}

func usages(t *testing.T, c publish.UsagesConfig) *usageAgent {
	t.Helper()
	c.Node, c.Incarnation, c.Backoff = "node-1", 1, publish.Backoff{Min: soon, Max: 2 * soon}
	u, err := publish.NewUsages(c)
	if err != nil {
		t.Fatal(err)
	}
	run(t, u.Run)
	return &usageAgent{u, time.Now()}
}

// read takes the first reading of a pod.
func (a *usageAgent) read(pod reserve.PodKey) {
	const age = 10 * time.Second
	a.at = a.at.Add(age)
	a.Take(a.at, []agent.PodReading{{Pod: pod, Age: age, CPU: age / 2, Pressure: true, Memory: 1 << 20, MemoryPeak: 1 << 20}})
}

// nextBatch returns the pods of the next batch that the profiler gets, and advances the clock.
func (a *usageAgent) nextBatch(t *testing.T, p *peer) (pods []uint64) {
	t.Helper()
	var b *spaziov1.UsageBatch
	waitFor(t, "a batch", func() bool {
		a.at = a.at.Add(time.Second)
		a.Take(a.at, nil)
		select {
		case b = <-p.usages:
		default:
		}
		return b != nil
	})
	for _, w := range b.GetWindows() {
		pods = append(pods, w.GetPod())
	}
	return pods
}

// A batch that a profiler rejects as invalid is dropped and counted, not sent again, and the next one
// is sent.
func TestRefusedBatchIsDropped(t *testing.T) {
	p, log, registry := newPeer(t), &transporttest.Journal{}, prometheus.NewRegistry()
	const bad = 2
	p.refuse = func(b *spaziov1.UsageBatch) error {
		if slices.ContainsFunc(b.GetWindows(), func(w *spaziov1.PodWindow) bool { return w.GetPod() == bad }) {
			return status.Error(codes.InvalidArgument, "windows[0].cpu_seconds")
		}
		return nil
	}
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Registerer: registry, Logger: slog.New(log)})
	for pod := range uint64(4) {
		a.read(reserve.PodKey(pod))
		if got := a.nextBatch(t, p); !slices.Equal(got, []uint64{pod}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
	}
	waitFor(t, "the count of dropped windows", func() bool { return value(t, registry, dropped, "") == 1 })
	waitFor(t, "a log line about the refusal", func() bool { return log.Count(refusedLine) == 1 })
	if n := log.Count("no stream to the profiler; trying again"); n != 0 {
		t.Errorf("got %d log lines of an outage, want 0", n)
	}
}

// A window that the profiler refuses within a batch is dropped and counted, and not sent again. The log
// has one line, however many follow.
func TestRefusedWindowIsDropped(t *testing.T) {
	p, log, registry := newPeer(t), &transporttest.Journal{}, prometheus.NewRegistry()
	p.without = func(b *spaziov1.UsageBatch) (places []uint32) {
		for i, w := range b.GetWindows() {
			if w.GetPod()%2 == 1 {
				places = append(places, uint32(i))
			}
		}
		return places
	}
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Registerer: registry, Logger: slog.New(log)})
	for pod := range uint64(5) {
		a.read(reserve.PodKey(pod))
		if got := a.nextBatch(t, p); !slices.Equal(got, []uint64{pod}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
	}
	waitFor(t, "two dropped windows", func() bool { return value(t, registry, dropped, "") == 2 })
	if n := log.Count("profiler refuses windows of a batch; further ones are only counted"); n != 1 {
		t.Errorf("got %d log lines, want 1", n)
	}
}

// A batch is sent again if the profiler denies access or fails.
func TestUnacknowledgedBatchIsSentAgain(t *testing.T) {
	for _, code := range []codes.Code{codes.PermissionDenied, codes.ResourceExhausted, codes.Unavailable, codes.Unauthenticated} {
		t.Run(code.String(), func(t *testing.T) {
			p, log, registry := newPeer(t), &transporttest.Journal{}, prometheus.NewRegistry()
			const failures = 3
			var batches atomic.Int32
			p.refuse = func(*spaziov1.UsageBatch) error {
				if batches.Add(1) > failures {
					return nil
				}
				return status.Error(code, "not now")
			}
			p.start()
			a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Registerer: registry, Logger: slog.New(log)})
			a.read(1)
			for range failures + 1 {
				if got := a.nextBatch(t, p); !slices.Equal(got, []uint64{1}) {
					t.Fatalf("got pods %v", got)
				}
			}
			a.read(2)
			if got := a.nextBatch(t, p); !slices.Equal(got, []uint64{2}) {
				t.Fatalf("second batch: got pods %v", got)
			}
			if n := value(t, registry, dropped, ""); n != 0 || log.Count(refusedLine) != 0 {
				t.Errorf("got %v dropped windows and %d log lines", n, log.Count(refusedLine))
			}
		})
	}
}

// The connection is closed when there is nothing to send, and the next batch opens another. Neither
// counts as a failure.
func TestIdleConnectionIsClosed(t *testing.T) {
	p, log := newPeer(t), &transporttest.Journal{}
	p.connections = make(chan bool, 1<<10)
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Logger: slog.New(log)}.WithLinger(soon))
	for pod := range uint64(3) {
		a.read(reserve.PodKey(pod))
		if got := a.nextBatch(t, p); !slices.Equal(got, []uint64{pod}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
		if !receive(t, p.connections) {
			t.Fatal("a connection ended before the last one began")
		}
		if receive(t, p.connections) {
			t.Fatal("another connection before the end of the last one")
		}
	}
	if n := log.Count("no stream to the profiler; trying again"); n != 0 {
		t.Errorf("got %d log lines of an outage, want 0", n)
	}
}

// A node whose pods have each been read four times has nothing to send before its minute ends: its
// connection closes after the acknowledgement, however long idle connections stay open otherwise.
func TestConnectionIsClosedWhenNothingIsDue(t *testing.T) {
	p, log := newPeer(t), &transporttest.Journal{}
	p.connections = make(chan bool, 1<<10)
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Logger: slog.New(log)}.WithLinger(time.Hour))
	r := agent.PodReading{Pod: 1, Pressure: true}
	for n := range 4 {
		if n > 0 && len(p.connections) > 1 {
			t.Fatalf("the connection closed after %d readings", n)
		}
		a.at, r.Age = a.at.Add(10*time.Second), r.Age+10*time.Second
		a.Take(a.at, []agent.PodReading{r})
		waitFor(t, "a batch", func() bool {
			a.at, r.Age = a.at.Add(time.Millisecond), r.Age+time.Millisecond
			a.Take(a.at, nil)
			return len(p.usages) > 0
		})
		<-p.usages
	}
	if !receive(t, p.connections) || receive(t, p.connections) {
		t.Fatal("another connection before the end of the last one")
	}
	if n := log.Count("no stream to the profiler; trying again"); n != 0 {
		t.Errorf("got %d log lines of an outage, want 0", n)
	}
}

// One connection carries all batches that follow each other.
func TestBusyConnectionIsKept(t *testing.T) {
	p := newPeer(t)
	p.connections = make(chan bool, 1<<10)
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}}.WithLinger(time.Hour))
	for pod := range uint64(5) {
		a.read(reserve.PodKey(pod))
		if got := a.nextBatch(t, p); !slices.Equal(got, []uint64{pod}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
	}
	if receive(t, p.connections); len(p.connections) > 0 {
		t.Error("more than one connection")
	}
}

// A connection that is about to be closed waits for its batch's acknowledgement.
func TestSlowAcknowledgementIsReceived(t *testing.T) {
	p, log, registry := newPeer(t), &transporttest.Journal{}, prometheus.NewRegistry()
	answer := make(chan error)
	p.refuse = func(*spaziov1.UsageBatch) error { return <-answer }
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Registerer: registry, Logger: slog.New(log)}.WithLinger(time.Nanosecond))
	for pod, err := range []error{nil, status.Error(codes.InvalidArgument, "windows[0].cpu_seconds"), nil} {
		a.read(reserve.PodKey(pod))
		if got := a.nextBatch(t, p); !slices.Equal(got, []uint64{uint64(pod)}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
		answer <- err
	}
	close(answer)
	waitFor(t, "the count of dropped windows", func() bool { return value(t, registry, dropped, "") == 1 })
	waitFor(t, "a log line about the refusal", func() bool { return log.Count(refusedLine) == 1 })
}

// After a long outage of the profiler 5,000 agents reconnect spread over half a minute rather than five
// seconds; a configured backoff is kept.
func TestReconnectsAreSpread(t *testing.T) {
	waits := publish.UsagesConfig{}.Waits()
	if first := waits.Delay(0, 0); first != 50*time.Millisecond {
		t.Errorf("got first wait %v, want the general default", first)
	}
	soonest, latest := waits.Delay(20, 0), waits.Delay(20, 1)
	if spread := latest - soonest; 5000/spread.Seconds() > 400 {
		t.Errorf("from %v to %v: %.0f agents a second, more than one profiler can accept", soonest, latest, 5000/spread.Seconds())
	}
	asked := publish.Backoff{Min: time.Minute, Max: time.Hour}
	if got := (publish.UsagesConfig{Backoff: asked}).Waits(); got != asked {
		t.Errorf("got %+v, want %+v", got, asked)
	}
	if got := (publish.UsagesConfig{Backoff: publish.Backoff{Min: time.Minute}}).Waits(); got.Max != time.Minute {
		t.Errorf("got Max %v, want at least Min, a minute", got.Max)
	}
}
