package node

import (
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// deliver hands what is in the mailbox to the pipeline.
func (d *Daemon) deliver() {
	m := d.mail.drain()
	at := d.config.Now()
	if m.churn {
		if r := d.config.Recorder; r != nil {
			r.Churn(at)
		}
		d.config.Pipeline.Churn(at)
	}
	for _, b := range m.bound {
		if r := d.config.Recorder; r != nil {
			r.Bound(at, b)
		}
		d.config.Pipeline.Bound(at, b)
	}
	if m.fleet != nil {
		d.setFleet(at, *m.fleet)
	}
	if m.changed {
		d.setPods(at, m.pods)
	}
	for _, reply := range m.asked {
		why, ok := d.config.Pipeline.Why()
		reply <- answer{why, ok}
	}
}

func (d *Daemon) setFleet(at time.Time, f agent.Fleet) {
	if r := d.config.Recorder; r != nil {
		r.Fleet(at, f)
	}
	if err := d.config.Pipeline.SetFleet(at, f); err != nil {
		d.config.Logger.Warn("fleet model refused", "error", err)
	}
}

func (d *Daemon) setPods(at time.Time, pods []telemetry.Pod) {
	d.pods = d.pods[:0]
	for _, pod := range pods {
		d.pods = append(d.pods, agent.Pod{Key: reserve.KeyOf(pod.UID), State: stateOf(pod.State), Starts: pod.Starts})
	}
	if r := d.config.Recorder; r != nil {
		r.Pods(at, d.pods)
	}
	report, due, err := d.config.Pipeline.Pods(at, d.pods)
	if err != nil {
		d.config.Logger.Warn("pods not reported", "error", err)
		return
	}
	if due {
		d.publish(report)
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
func (d *Daemon) publish(r agent.Report) {
	if recorder := d.config.Recorder; recorder != nil {
		recorder.Report(r)
	}
	r.SampledAt = d.good
	d.last.Store(&r)
	d.config.Metrics.reported(&r)
	if d.config.OnReport != nil {
		d.config.OnReport(r, *d.sampled.Load())
	}
}

// offer passes the local model on, once for each block.
func (d *Daemon) offer() {
	if d.config.OnLocal == nil {
		return
	}
	if l, ok := d.config.Pipeline.Local(); ok && l.Sequence != d.offered {
		d.offered = l.Sequence
		d.config.OnLocal(l)
	}
}
