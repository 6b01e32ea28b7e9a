package loop

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// dispatch hands what has come in to the pipeline.
func (l *Loop) dispatch() {
	m, ok := l.input.drain()
	if !ok {
		return
	}
	at := l.config.Now()
	if m.placeholders != nil {
		l.setPlaceholders(at, *m.placeholders)
	}
	if m.churn || slices.ContainsFunc(m.churned, l.alive) {
		l.recorder.Churn(at)
		l.config.Pipeline.Churn(at)
	}
	for _, b := range m.bound {
		l.recorder.Bound(at, b)
		l.config.Pipeline.Bound(at, b)
	}
	if m.fleet != nil {
		l.setFleet(at, *m.fleet)
	}
	if m.changed {
		l.setPods(at, m.pods)
	}
	for _, reply := range m.asked {
		why, ok := l.config.Pipeline.Why()
		reply <- answer{why, ok}
	}
}

// alive reports whether a pod is no placeholder: one that is starts and stops without a load.
func (l *Loop) alive(uid string) bool { return !l.config.Pipeline.Placeholder(reserve.KeyOf(uid)) }

func (l *Loop) setPlaceholders(at time.Time, pods []reserve.PodKey) {
	l.recorder.Placeholders(at, pods)
	report, due, err := l.config.Pipeline.Placeholders(at, pods)
	if err != nil {
		l.config.Logger.Warn("placeholders refused", "error", err)
		return
	}
	if due {
		l.publish(report)
	}
}

func (l *Loop) setFleet(at time.Time, f agent.Fleet) {
	l.recorder.Fleet(at, f)
	if err := l.config.Pipeline.SetFleet(at, f); err != nil {
		l.config.Logger.Warn("fleet model refused", "error", err)
	}
}

func (l *Loop) setPods(at time.Time, pods []telemetry.Pod) {
	if l.config.Usage != nil {
		l.config.Usage.Observe(at, pods)
	}
	if l.config.Power != nil {
		l.config.Power.Observe(at, pods)
	}
	l.pods = l.pods[:0]
	for _, pod := range pods {
		l.pods = append(l.pods, agent.Pod{Key: reserve.KeyOf(pod.UID), State: stateOf(pod.State), Starts: pod.Starts})
	}
	l.recorder.Pods(at, l.pods)
	report, due, err := l.config.Pipeline.Pods(at, l.pods)
	if err != nil {
		l.config.Logger.Warn("pods not reported", "error", err)
		return
	}
	if due {
		l.publish(report)
	}
}

func stateOf(s telemetry.PodState) agent.PodState {
	switch s {
	case telemetry.PodRunning:
		return agent.PodRunning
	case telemetry.PodStopped:
		return agent.PodStopped
	}
	return agent.PodPending
}

// publish passes a report on. The pipeline's clock is its own; others see the
// wall clock's time of the same sample.
func (l *Loop) publish(r agent.Report) {
	l.recorder.Report(r)
	r.SampledAt = l.good
	l.last.Store(&r)
	l.config.Metrics.reported(&r)
	if l.config.OnReport != nil {
		l.config.OnReport(r, *l.sampled.Load())
	}
}

// offer passes the local model on, once for each block.
func (l *Loop) offer() {
	if l.config.OnLocal == nil {
		return
	}
	if local, ok := l.config.Pipeline.Local(); ok && local.Sequence != l.offered {
		l.offered = local.Sequence
		l.config.OnLocal(local)
	}
}

// maxBound bounds the notices that wait, and the pods with churn; more in one period
// count as churn only, whichever pods they concern.
const maxBound = 64

// pending is what waits for the pipeline: of each kind the newest.
type pending struct {
	// churn is that of unknown pods, churned that of pods.
	churn   bool
	churned []string
	bound   []agent.Bind
	// placeholders are the newest set that a scheduler named; nil for none.
	placeholders *[]reserve.PodKey
	changed      bool
	pods         []telemetry.Pod
	fleet        *agent.Fleet
	// asked want the pipeline's Why; each has room for one.
	asked []chan<- answer
}

// answer is the Why of the last report; ok is false before the first.
type answer struct {
	why agent.Why
	ok  bool
}

// input keeps what comes for the pipeline until it is drained. It is safe for concurrent
// use and never blocks.
type input struct {
	// came has room for one, and holds it while there may be something.
	came chan struct{}

	mu      sync.Mutex
	full    bool
	pending pending
}

func (b *input) put(change func(*pending)) {
	b.mu.Lock()
	change(&b.pending)
	b.full = true
	b.mu.Unlock()
	signal(b.came)
}

// drain returns what has come; ok is false if nothing has.
func (b *input) drain() (p pending, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok = b.pending, b.full
	b.pending, b.full = pending{}, false
	return p, ok
}

func (b *input) podEvent(e telemetry.PodEvent) {
	b.put(func(m *pending) {
		if e.Churn && len(e.Churned) > 0 && len(m.churned)+len(e.Churned) <= maxBound {
			m.churned = append(m.churned, e.Churned...)
		} else {
			m.churn = m.churn || e.Churn
		}
		if e.Changed {
			m.changed, m.pods = true, e.Pods
		}
	})
}

func (b *input) bound(bind agent.Bind) {
	b.put(func(m *pending) {
		if len(m.bound) == maxBound {
			m.churn = true
			return
		}
		m.bound = append(m.bound, bind)
	})
}

func (b *input) setPlaceholders(pods []reserve.PodKey) {
	b.put(func(m *pending) { m.placeholders = &pods })
}

func (b *input) setFleet(f agent.Fleet) {
	b.put(func(m *pending) { m.fleet = &f })
}

// ask waits for the pipeline's answer until ctx or, with errStopped, the
// pipeline ends.
func (b *input) ask(ctx context.Context, stopped <-chan struct{}) (answer, error) {
	reply := make(chan answer, 1)
	b.put(func(m *pending) { m.asked = append(m.asked, reply) })
	select {
	case a := <-reply:
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-stopped:
		return answer{}, errStopped
	}
}
