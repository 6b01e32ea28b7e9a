package telemetry

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

const cpuName = "cpu"

// onlineEvery is how often the number of online CPUs is read when utilisation
// comes from a cgroup: hot-plug is rare, and /proc/stat is dear on large
// machines.
const onlineEvery = time.Second

// cpu is the cpu channel. usage is nil when utilisation comes from /proc/stat,
// pressure when the kernel has none.
type cpu struct {
	mode                  CPUMode
	stat, usage, pressure *file
	maxInterval           time.Duration

	onlineAt time.Time
	last     cpuReading
	primed   bool
}

// cpuReading holds the counters at one moment. usage is in µs; busy and idle
// are in ticks and used when there is no usage.
type cpuReading struct {
	at                time.Time
	busy, idle, usage uint64
	online            int
	stalled           uint64
}

func newCPU(c Config) (*cpu, error) {
	u := &cpu{
		mode:        c.CPU,
		stat:        newFile(filepath.Join(c.ProcRoot, "stat"), 16<<10),
		maxInterval: c.MaxInterval,
	}
	if err := u.findPressure(c); err != nil {
		return nil, err
	}
	if err := u.findUsage(c); err != nil {
		u.close()
		return nil, err
	}
	online, err := u.readStat(&cpuReading{})
	if err != nil {
		u.close()
		return nil, err
	}
	u.last.online = online
	return u, nil
}

// findPressure opens the pressure file. The kernel may lack it or, booted with
// psi=0, refuse to read it; then half becomes utilisation.
func (u *cpu) findPressure(c Config) error {
	f := newFile(filepath.Join(c.ProcRoot, "pressure", "cpu"), 512)
	_, err := f.read()
	switch {
	case err == nil:
		u.pressure = f
		return nil
	case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported):
		return &ChannelError{cpuName, f.path, err}
	case u.mode == CPUPressure:
		return &ChannelError{cpuName, f.path, ErrNoPressure}
	}
	u.mode = CPUUtilisation
	return nil
}

// findUsage looks for cpu.stat of the root of cgroup v2, in the hybrid layout
// under unified. Inside a container's cgroup namespace the same path is the
// container's own cgroup; only the true root has no cgroup.type.
func (u *cpu) findUsage(c Config) error {
	if c.Counter == CounterStat {
		return nil
	}
	path := filepath.Join(c.CgroupRoot, "cpu.stat")
	for _, dir := range []string{c.CgroupRoot, filepath.Join(c.CgroupRoot, "unified")} {
		f := newFile(filepath.Join(dir, "cpu.stat"), 1<<10)
		if !exists(filepath.Join(dir, "cgroup.controllers")) || exists(filepath.Join(dir, "cgroup.type")) {
			continue
		}
		text, err := f.read()
		if err == nil {
			_, err = ParseCPUStat(text)
		}
		if err == nil {
			u.usage = f
			return nil
		}
		f.close()
	}
	if c.Counter == CounterCgroup {
		return &ChannelError{cpuName, path, os.ErrNotExist}
	}
	return nil
}

func (u *cpu) name() string   { return cpuName }
func (u *cpu) option() string { return u.mode.String() }
func (u *cpu) size() float64  { return float64(u.last.online) }

func (u *cpu) counter() CPUCounter {
	if u.usage != nil {
		return CounterCgroup
	}
	return CounterStat
}

func (u *cpu) close() {
	for _, f := range []*file{u.stat, u.usage, u.pressure} {
		if f != nil {
			f.close()
		}
	}
}

func (u *cpu) sample(at time.Time) (float64, error) {
	now := cpuReading{at: at, online: u.last.online}
	if err := u.read(&now); err != nil {
		return 0, err
	}
	last, primed := u.last, u.primed
	u.last, u.primed = now, true
	if !primed {
		return 0, ErrPriming
	}
	interval := at.Sub(last.at)
	switch {
	case interval <= 0:
		return 0, &ChannelError{Channel: cpuName, Err: ErrNoInterval}
	case interval > u.maxInterval:
		return 0, &ChannelError{Channel: cpuName, Err: ErrLongInterval}
	case now.online != last.online:
		return 0, &ChannelError{cpuName, u.stat.path, ErrResized}
	}
	return u.value(last, now, interval)
}

// read fills the counters the mode needs.
func (u *cpu) read(r *cpuReading) error {
	if u.mode != CPUPressure && u.usage == nil || r.at.Sub(u.onlineAt) >= onlineEvery || r.at.Before(u.onlineAt) {
		online, err := u.readStat(r)
		if err != nil {
			return err
		}
		r.online, u.onlineAt = online, r.at
	}
	if u.mode != CPUPressure && u.usage != nil {
		text, err := u.usage.read()
		if err != nil {
			return &ChannelError{cpuName, u.usage.path, err}
		}
		s, err := ParseCPUStat(text)
		if err != nil {
			return &ChannelError{cpuName, u.usage.path, err}
		}
		r.usage = s.Usage
	}
	if u.mode != CPUUtilisation {
		text, err := u.pressure.read()
		if err != nil {
			return &ChannelError{cpuName, u.pressure.path, err}
		}
		s, err := ParsePressure(text)
		if err != nil {
			return &ChannelError{cpuName, u.pressure.path, err}
		}
		r.stalled = s.Some
	}
	return nil
}

func (u *cpu) readStat(r *cpuReading) (online int, err error) {
	text, err := u.stat.read()
	if err != nil {
		return 0, &ChannelError{cpuName, u.stat.path, err}
	}
	t, err := ParseStat(text)
	if err != nil {
		return 0, &ChannelError{cpuName, u.stat.path, err}
	}
	r.busy, r.idle = t.Busy, t.Idle
	return t.Online, nil
}

func (u *cpu) value(last, now cpuReading, interval time.Duration) (float64, error) {
	var utilisation, pressure float64
	if u.mode != CPUPressure {
		var err error
		if utilisation, err = u.utilisation(last, now, interval); err != nil {
			return 0, err
		}
	}
	if u.mode != CPUUtilisation {
		if now.stalled < last.stalled {
			return 0, &ChannelError{cpuName, u.pressure.path, ErrBackwards}
		}
		pressure = clamp(float64(now.stalled-last.stalled) / 1e6 / interval.Seconds())
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
func (u *cpu) utilisation(last, now cpuReading, interval time.Duration) (float64, error) {
	if u.usage != nil {
		if now.usage < last.usage {
			return 0, &ChannelError{cpuName, u.usage.path, ErrBackwards}
		}
		used := float64(now.usage-last.usage) / 1e6
		return clamp(used / (interval.Seconds() * float64(now.online))), nil
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
