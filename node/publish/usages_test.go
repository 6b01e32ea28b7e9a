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

// usageAgent is an agent that measures pods of its node.
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

// read is the first reading of a pod.
func (a *usageAgent) read(pod reserve.PodKey) {
	const age = 10 * time.Second
	a.at = a.at.Add(age)
	a.Take(a.at, []agent.PodReading{{Pod: pod, Age: age, CPU: age / 2, Pressure: true, Memory: 1 << 20, MemoryPeak: 1 << 20}})
}

// told returns the pods of the next batch that the profiler gets. Time goes on.
func (a *usageAgent) told(t *testing.T, p *peer) (pods []uint64) {
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

// A batch that a profiler can't read is sent once: it is dropped and counted, and the
// next goes out.
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
		if got := a.told(t, p); !slices.Equal(got, []uint64{pod}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
	}
	waitFor(t, "the window counts as dropped", func() bool { return value(t, registry, dropped, "") == 1 })
	waitFor(t, "a line about it", func() bool { return log.Count(refusedLine) == 1 })
	if n := log.Count("no stream to the profiler; trying again"); n != 0 {
		t.Errorf("%d lines that the profiler is away", n)
	}
}

// A window that a profiler takes a batch without is dropped and counted, and not sent again.
// One line says so, however many follow.
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
		if got := a.told(t, p); !slices.Equal(got, []uint64{pod}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
	}
	waitFor(t, "two windows count as dropped", func() bool { return value(t, registry, dropped, "") == 2 })
	if n := log.Count("profiler refuses windows of a batch; further ones are only counted"); n != 1 {
		t.Errorf("%d lines about it, want 1", n)
	}
}

// A profiler that refuses the caller, or fails, gets the batch again.
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
				if got := a.told(t, p); !slices.Equal(got, []uint64{1}) {
					t.Fatalf("a batch of pods %v", got)
				}
			}
			a.read(2)
			if got := a.told(t, p); !slices.Equal(got, []uint64{2}) {
				t.Fatalf("then one of pods %v", got)
			}
			if n := value(t, registry, dropped, ""); n != 0 || log.Count(refusedLine) != 0 {
				t.Errorf("%v windows dropped, %d lines", n, log.Count(refusedLine))
			}
		})
	}
}

// With nothing to send the connection is closed, and the next batch has another. Neither
// is a failure.
func TestIdleConnectionIsClosed(t *testing.T) {
	p, log := newPeer(t), &transporttest.Journal{}
	p.connections = make(chan bool, 1<<10)
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Linger: soon, Logger: slog.New(log)})
	for pod := range uint64(3) {
		a.read(reserve.PodKey(pod))
		if got := a.told(t, p); !slices.Equal(got, []uint64{pod}) {
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
		t.Errorf("%d lines that the profiler is away", n)
	}
}

// A node whose pods have all been read four times has nothing to say before its minute ends:
// its connection is closed once that is answered, however long others linger.
func TestQuietConnectionIsClosed(t *testing.T) {
	p, log := newPeer(t), &transporttest.Journal{}
	p.connections = make(chan bool, 1<<10)
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Linger: time.Hour, Logger: slog.New(log)})
	r := agent.PodReading{Pod: 1, Pressure: true}
	for n := range 4 {
		if n > 0 && len(p.connections) > 1 {
			t.Fatalf("the connection is closed after %d readings", n)
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
		t.Errorf("%d lines that the profiler is away", n)
	}
}

// While there are batches, one connection carries them.
func TestBusyConnectionStays(t *testing.T) {
	p := newPeer(t)
	p.connections = make(chan bool, 1<<10)
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Linger: time.Hour})
	for pod := range uint64(5) {
		a.read(reserve.PodKey(pod))
		if got := a.told(t, p); !slices.Equal(got, []uint64{pod}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
	}
	if receive(t, p.connections); len(p.connections) > 0 {
		t.Error("more than one connection")
	}
}

// A connection that is about to be closed waits for what its batch is answered with.
func TestSlowAnswerIsHeard(t *testing.T) {
	p, log, registry := newPeer(t), &transporttest.Journal{}, prometheus.NewRegistry()
	answer := make(chan error)
	p.refuse = func(*spaziov1.UsageBatch) error { return <-answer }
	p.start()
	a := usages(t, publish.UsagesConfig{Targets: []string{p.addr}, Linger: time.Nanosecond, Registerer: registry, Logger: slog.New(log)})
	for pod, err := range []error{nil, status.Error(codes.InvalidArgument, "windows[0].cpu_seconds"), nil} {
		a.read(reserve.PodKey(pod))
		if got := a.told(t, p); !slices.Equal(got, []uint64{uint64(pod)}) {
			t.Fatalf("a batch of pods %v, want %v", got, pod)
		}
		answer <- err
	}
	close(answer)
	waitFor(t, "the window counts as dropped", func() bool { return value(t, registry, dropped, "") == 1 })
	waitFor(t, "a line about it", func() bool { return log.Count(refusedLine) == 1 })
}

// A profiler that was away for long is come to by 5,000 agents within half a minute, not in
// five seconds; who asks for other waits has them.
func TestAgentsComeBackSpread(t *testing.T) {
	waits := publish.UsagesConfig{}.Waits()
	if first := waits.Delay(0, 0); first != 50*time.Millisecond {
		t.Errorf("the first wait is %v, want as everywhere", first)
	}
	soonest, latest := waits.Delay(20, 0), waits.Delay(20, 1)
	if spread := latest - soonest; 5000/spread.Seconds() > 400 {
		t.Errorf("from %v to %v: %.0f agents a second, more than one profiler can greet", soonest, latest, 5000/spread.Seconds())
	}
	asked := publish.Backoff{Min: time.Minute, Max: time.Hour}
	if got := (publish.UsagesConfig{Backoff: asked}).Waits(); got != asked {
		t.Errorf("%+v instead of %+v", got, asked)
	}
	if got := (publish.UsagesConfig{Backoff: publish.Backoff{Min: time.Minute}}).Waits(); got.Max != time.Minute {
		t.Errorf("at most %v with at least a minute", got.Max)
	}
}
