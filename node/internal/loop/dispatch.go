package loop

import (
	"slices"
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
