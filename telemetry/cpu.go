package telemetry

import (
	"errors"
	"path/filepath"
	"time"
)

const cpuName = "cpu"

// cpu is the cpu channel. usage is nil when utilisation comes from /proc/stat,
// pressure when the kernel has none, throttling unless asked for.
type cpu struct {
	mode       CPUMode
	stat       *file
	list       *file // of online CPUs; nil when they are counted in /proc/stat
	usage      *usage
	pressure   *file
	throttling *throttling

	span span
	last cpuReading
	// carried is throttled time, in CPU seconds, that the last sample's stall
	// was too short for.
	carried float64
}

// cpuReading holds the counters at one moment: used in usage's unit, or busy and
// idle in ticks when there is none; stalled in µs; throttled in CPU time.
type cpuReading struct {
	used, busy, idle uint64
	online           int
	stalled          uint64
	throttled        time.Duration
}

func newCPU(c Config) (*cpu, error) {
	u := &cpu{
		mode: c.CPU,
		stat: newFile(filepath.Join(c.ProcRoot, "stat"), 16<<10),
		span: span{longest: c.MaxInterval},
	}
	if err := u.open(c); err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

func (u *cpu) open(c Config) error {
	pressure, err := openPressure(c, cpuName, "cpu")
	switch {
	case err == nil:
		u.pressure = pressure
	case u.mode == CPUPressure || !errors.Is(err, ErrNoPressure):
		return err
	default:
		u.mode = CPUUtilisation
	}
	if u.usage, err = findUsage(c); err != nil {
		return err
	}
	if c.Throttling && u.mode != CPUUtilisation {
		if u.throttling, err = newThrottling(c.CgroupRoot); err != nil {
			return err
		}
	}
	stat, err := readAs(cpuName, u.stat, ParseStat)
	if err != nil {
		return err
	}
	u.last.online = stat.Online
	u.findList(c, stat.Online)
	return nil
}

// findList opens sysfs's list of online CPUs, which is cheap enough to read with
// every sample where /proc/stat is not. It counts only if it agrees with
// /proc/stat: else the two are not of the same machine.
func (u *cpu) findList(c Config, online int) {
	f := newFile(filepath.Join(c.SysRoot, "devices", "system", "cpu", "online"), 256)
	if n, err := readAs(cpuName, f, ParseCPUList); err != nil || n != online {
		f.close()
		return
	}
	u.list = f
}

func (u *cpu) name() string  { return cpuName }
func (u *cpu) size() float64 { return float64(u.last.online) }

func (u *cpu) option() string {
	if u.throttling != nil {
		return u.mode.String() + "-throttling"
	}
	return u.mode.String()
}

func (u *cpu) counter() CPUCounter {
	if u.usage != nil {
		return u.usage.kind
	}
	return CounterStat
}

func (u *cpu) close() {
	for _, f := range []*file{u.stat, u.list, u.pressure} {
		if f != nil {
			f.close()
		}
	}
	if u.usage != nil {
		u.usage.file.close()
	}
	if u.throttling != nil {
		u.throttling.close()
	}
}

func (u *cpu) sample(at time.Time) (float64, error) {
	now, err := u.read(at)
	if err != nil {
		return 0, err
	}
	last, carried := u.last, u.carried
	u.last, u.carried = now, 0
	since, err := u.span.next(at)
	switch {
	case err != nil:
		return 0, &ChannelError{Channel: cpuName, Err: err}
	case now.online != last.online:
		return 0, &ChannelError{cpuName, u.counted().path, ErrResized}
	}
	return u.value(last, now, since.Seconds(), carried)
}

// counted is the file that tells the number of online CPUs.
func (u *cpu) counted() *file {
	if u.list != nil {
		return u.list
	}
	return u.stat
}

// utilised says whether the mode needs utilisation, or the correction does.
func (u *cpu) utilised() bool { return u.mode != CPUPressure || u.throttling != nil }

// read returns the counters the mode needs, and always the number of CPUs.
func (u *cpu) read(at time.Time) (cpuReading, error) {
	var r cpuReading
	var err error
	if u.list == nil || u.usage == nil && u.utilised() {
		stat, err := readAs(cpuName, u.stat, ParseStat)
		if err != nil {
			return r, err
		}
		r.busy, r.idle, r.online = stat.Busy, stat.Idle, stat.Online
	}
	if u.list != nil {
		if r.online, err = readAs(cpuName, u.list, ParseCPUList); err != nil {
			return r, err
		}
	}
	if u.usage != nil && u.utilised() {
		if r.used, err = u.usage.read(); err != nil {
			return r, err
		}
	}
	if u.mode != CPUUtilisation {
		s, err := readAs(cpuName, u.pressure, ParsePressure)
		if err != nil {
			return r, err
		}
		r.stalled = s.Some
	}
	if u.throttling != nil {
		r.throttled = u.throttling.read(at)
	}
	return r, nil
}

func (u *cpu) value(last, now cpuReading, seconds, carried float64) (float64, error) {
	var utilisation, pressure float64
	if u.utilised() {
		var err error
		if utilisation, err = u.utilisation(last, now, seconds); err != nil {
			return 0, err
		}
	}
	if u.mode != CPUUtilisation {
		if now.stalled < last.stalled {
			return 0, &ChannelError{cpuName, u.pressure.path, ErrBackwards}
		}
		pressure = clamp(float64(now.stalled-last.stalled) / 1e6 / seconds)
	}
	if u.throttling != nil {
		throttled := (now.throttled - last.throttled).Seconds()
		share, left := withoutThrottling(pressure, utilisation, (throttled+carried)/seconds, float64(now.online))
		pressure, u.carried = share, min(left*seconds, throttled)
	}
	switch u.mode {
	case CPUUtilisation:
		return utilisation, nil
	case CPUPressure:
		return pressure, nil
	default:
		return (utilisation + pressure) / 2, nil
	}
}

// utilisation is the CPU time used over the CPU time there was.
func (u *cpu) utilisation(last, now cpuReading, seconds float64) (float64, error) {
	if u.usage != nil {
		if now.used < last.used {
			return 0, &ChannelError{cpuName, u.usage.file.path, ErrBackwards}
		}
		return clamp(float64(now.used-last.used) / u.usage.second / (seconds * float64(now.online))), nil
	}
	if now.busy < last.busy || now.idle < last.idle {
		return 0, &ChannelError{cpuName, u.stat.path, ErrBackwards}
	}
	busy, idle := float64(now.busy-last.busy), float64(now.idle-last.idle)
	if busy+idle == 0 {
		return 0, &ChannelError{cpuName, u.stat.path, ErrNoInterval}
	}
	return busy / (busy + idle), nil
}
