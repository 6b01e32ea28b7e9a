package node

import (
	"fmt"
	"maps"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// usage reads pods behind each sample, on its wake-up. The zero value, without a meter,
// does nothing.
type usage struct {
	read     telemetry.Usage
	readings []agent.PodReading
	// logged is when each error was logged.
	logged map[string]time.Time
}

const (
	// logAgain is after how long an error that lasts is logged again, and mostLogged how
	// many are kept.
	logAgain   = time.Hour
	mostLogged = 64
)

// isNews reports whether an error was not logged lately, and notes that it is now.
func (u *usage) isNews(err error, at time.Time) bool {
	maps.DeleteFunc(u.logged, func(_ string, logged time.Time) bool { return at.Sub(logged) >= logAgain })
	text := err.Error()
	if _, known := u.logged[text]; known || len(u.logged) >= mostLogged {
		return false
	}
	if u.logged == nil {
		u.logged = map[string]time.Time{}
	}
	u.logged[text] = at
	return true
}

// readUsage reads the pods that are due and passes the readings on.
func (l *loop) readUsage(at time.Time) {
	if l.config.Usage == nil {
		return
	}
	u := &l.usage
	err := l.config.Usage.ReadTo(&u.read, at)
	if err != nil && u.isNews(err, at) {
		l.config.Logger.Warn("usage of pods not read", "error", err)
	}
	for _, failed := range u.read.Failed {
		if u.isNews(failed, at) {
			l.config.Logger.Warn("usage of a pod not read", "error", failed)
		}
	}
	u.readings = u.readings[:0]
	for i := range u.read.Pods {
		r := readingOf(&u.read.Pods[i])
		r.Cores = l.config.Pipeline.Cores()
		if err := boundMemory(&r, u.read.Pods[i].UID, l.config.Pipeline.Memory()); err != nil && u.isNews(err, at) {
			l.config.Logger.Warn("usage of a pod not read", "error", err, "bytes", u.read.Pods[i].Memory)
		}
		u.readings = append(u.readings, r)
	}
	if len(u.readings) > 0 {
		l.recorder.Usage(at, u.readings)
		l.config.Pipeline.Usage(at, u.readings)
	}
	if l.config.OnUsage != nil {
		l.config.OnUsage(at, u.readings)
	}
}

// boundMemory makes memory unknown that is more than the machine has.
func boundMemory(r *agent.PodReading, uid string, most float64) error {
	switch {
	case most == 0:
	case float64(r.Memory) > most:
		r.NoMemory, r.Memory, r.MemoryPeak, r.OOMKills = true, 0, 0, 0
		return fmt.Errorf("memory of pod %s is more than the %.0f bytes of the machine", uid, most)
	case float64(r.MemoryPeak) > most:
		r.MemoryPeak = r.Memory
	}
	return nil
}

func readingOf(r *telemetry.PodReading) agent.PodReading {
	reading := agent.PodReading{
		Pod: reserve.KeyOf(r.UID), Age: r.Age, AgeUnknown: r.AgeUnknown, Ended: r.Ended,
		NoCPU: r.NoCPU, NoMemory: r.NoMemory,
		CPU: r.CPU, Stalled: r.Stalled, Throttled: r.Throttled, Pressure: r.Pressure,
		Periods: r.Periods, ThrottledPeriods: r.ThrottledPeriods,
		Memory: r.Memory, MemoryPeak: r.MemoryPeak, OOMKills: r.OOMKills,
		MemoryStalled: r.MemoryStalled, MemoryPressure: r.MemoryPressure,
	}
	if r.Container != "" {
		reading.Container = uint64(reserve.KeyOf(r.Container))
	}
	return reading
}

// powerTicks is how many samples apart power is measured: a second at 10 Hz.
const powerTicks = 10

// measurePower measures what the machine takes, when it is time, and passes it on. What
// a pipeline refuses is no power, which the meter does not make.
func (l *loop) measurePower(at time.Time) {
	if l.config.Power == nil {
		return
	}
	if l.ticks++; l.ticks < powerTicks {
		return
	}
	l.ticks = 0
	found := l.config.Power.measure(at)
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
