package loop

import "time"

// powerTicks is how many samples apart power is measured: a second at 10 Hz.
const powerTicks = 10

// measurePower measures what the machine takes, when it is time, and passes it on. What
// a pipeline refuses is no power, which the meter does not make.
func (l *Loop) measurePower(at time.Time) {
	if l.config.Power == nil {
		return
	}
	if l.ticks++; l.ticks < powerTicks {
		return
	}
	l.ticks = 0
	found := l.config.Power.Measure(at)
	if found.HasPower {
		l.recorder.Power(at, found.Power)
		if err := l.config.Pipeline.Power(at, found.Power); err != nil {
			l.config.Logger.Warn("power refused", "error", err)
		}
	}
	if found.HasPods {
		l.recorder.PodPower(at, found.Pods)
		if err := l.config.Pipeline.PodPower(at, found.Pods); err != nil {
			l.config.Logger.Warn("power of pods refused", "error", err)
		}
	}
}
