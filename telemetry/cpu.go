package telemetry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const cpuName = "cpu"

// cpu is the cpu channel. usage is nil when utilisation comes from /proc/stat
// alone, pressure unless it is what counts as contention.
type cpu struct {
	mode       CPUMode
	contention CPUContention
	stat       *file
	usage      *usage
	pressure   *file

	span    span
	last    cpuReading
	still   standstill
	waiting waiting
}

// standstill is the first reading that shows the CPU time that the last one does.
type standstill struct {
	cpuReading
	at time.Time
}

// standsAfter is for how long a counter may stand still. Idle time counts on each CPU, so
// that something moves in /proc/stat within a few ticks.
const standsAfter = time.Second

// cpuReading holds the counters at one moment: used in usage's unit, stalled in
// µs.
type cpuReading struct {
	statTimes
	used, stalled uint64
}

func newCPU(c Config) (*cpu, error) {
	u := &cpu{
		mode:       c.CPU,
		contention: c.Contention,
		stat:       newFile(filepath.Join(c.ProcRoot, "stat"), 16<<10),
		span:       span{longest: c.MaxInterval},
	}
	if err := u.open(c); err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

func (u *cpu) open(c Config) error {
	if err := u.openPressure(c); err != nil {
		return err
	}
	var err error
	if u.usage, err = findUsage(c); err != nil {
		return err
	}
	u.last, err = u.read()
	return err
}

// openPressure opens the pressure file if the channel needs it. Half of
// utilisation and pressure is utilisation alone where the kernel has none.
func (u *cpu) openPressure(c Config) error {
	if u.mode == CPUUtilisation || u.contention != ContentionPressure {
		return nil
	}
	f, err := openPressure(c, cpuName, "cpu")
	if u.mode == CPUHalf && errors.Is(err, ErrNoPressure) {
		u.mode = CPUUtilisation
		return nil
	}
	u.pressure = f
	return err
}

func (u *cpu) name() string  { return cpuName }
func (u *cpu) size() float64 { return float64(u.last.Online) }

func (u *cpu) option() string {
	switch u.mode {
	case CPUUtilisation:
		return string(u.mode)
	case CPUContended:
		return string(u.contention)
	default:
		return string(u.mode) + "-" + string(u.contention)
	}
}

func (u *cpu) counter() CPUCounter {
	if u.usage != nil {
		return u.usage.kind
	}
	return CounterStat
}

func (u *cpu) close() {
	for _, f := range []*file{u.stat, u.pressure} {
		if f != nil {
			f.close()
		}
	}
	if u.usage != nil {
		u.usage.file.close()
	}
}

func (u *cpu) sample(at time.Time) (float64, error) {
	now, err := u.read()
	if err != nil {
		u.waiting = waiting{}
		return 0, err
	}
	last := u.last
	u.last = now
	since, err := u.span.next(at)
	switch {
	case err != nil:
		err = &ChannelError{Channel: cpuName, Err: err}
	case now.Online != last.Online:
		err = &ChannelError{cpuName, u.stat.path, ErrResized}
	}
	if err != nil {
		u.still = standstill{now, at}
	} else {
		err = u.stuck(now, at)
	}
	value := 0.
	if err == nil {
		value, err = u.value(last, now, since.Seconds())
	}
	if err != nil {
		u.waiting = waiting{}
	}
	return value, err
}

// stuck returns an error of a counter of CPU time that has stood still for standsAfter where
// that cannot be: tasks took time by /proc/stat, or no time passed by it either. The counter
// of an idle machine may stand still.
func (u *cpu) stuck(now cpuReading, at time.Time) error {
	was := u.still.cpuReading
	frozen := now.Busy == was.Busy && now.idle == was.idle && now.iowait == was.iowait
	if u.usage == nil && !frozen || now.used != was.used {
		u.still = standstill{now, at}
		return nil
	}
	busy := float64(now.Busy-now.Steal) - float64(was.Busy-was.Steal)
	unseen := busy/ticksPerSecond > lateness.Seconds()*float64(now.Online) // one may be read that much later
	switch known := now.badBusy == nil && now.badIdle == nil && was.badBusy == nil && was.badIdle == nil; {
	case !known || at.Sub(u.still.at) < standsAfter:
		return nil
	case frozen:
		return &ChannelError{cpuName, u.stat.path, ErrStuck}
	case unseen:
		return &ChannelError{cpuName, u.usage.file.path, ErrStuck}
	}
	return nil
}

func (u *cpu) read() (cpuReading, error) {
	var r cpuReading
	var err error
	if r.statTimes, err = readAs(cpuName, u.stat, parseStat); err != nil {
		return r, err
	}
	if u.usage != nil {
		if r.used, err = u.usage.read(); err != nil {
			return r, err
		}
	}
	if u.pressure != nil {
		stalled, err := readAs(cpuName, u.pressure, ParsePressure)
		if err != nil {
			return r, err
		}
		r.stalled = stalled.Some
	}
	return r, nil
}

func (u *cpu) value(last, now cpuReading, seconds float64) (float64, error) {
	utilisation, err := u.utilisation(last, now, seconds)
	if err != nil || u.mode == CPUUtilisation {
		return utilisation, err
	}
	contention, err := u.contended(last, now, seconds, utilisation)
	if err != nil || u.mode == CPUContended {
		return contention, err
	}
	return (utilisation + contention) / 2, nil
}

func (u *cpu) contended(last, now cpuReading, seconds, utilisation float64) (float64, error) {
	if u.pressure != nil {
		return stallShare(last.stalled, now.stalled, seconds, cpuName, u.pressure.path)
	}
	if now.badRunning != nil {
		return 0, &ChannelError{cpuName, u.stat.path, now.badRunning}
	}
	return u.waiting.share(now.Running, utilisation, now.Online), nil
}

// utilisation is the CPU time used or stolen over the CPU time there was.
func (u *cpu) utilisation(last, now cpuReading, seconds float64) (float64, error) {
	most := mostIn(seconds) * float64(now.Online)
	if u.usage == nil {
		return u.ticked(last, now, most)
	}
	switch {
	case now.used < last.used:
		return 0, &ChannelError{cpuName, u.usage.file.path, ErrBackwards}
	case now.Steal < last.Steal:
		return 0, &ChannelError{cpuName, u.stat.path, ErrBackwards}
	}
	used, stolen := float64(now.used-last.used)/u.usage.second, u.stolen(last, now)
	if used > most {
		return 0, &ChannelError{cpuName, u.usage.file.path, leapt(used, most)}
	}
	if stolen > most {
		return 0, &ChannelError{cpuName, u.stat.path, leapt(stolen, most)}
	}
	return clamp((used + stolen) / (seconds * float64(now.Online))), nil
}

// ticked is the utilisation by the times of /proc/stat alone, of which there are at most
// so many seconds.
func (u *cpu) ticked(last, now cpuReading, most float64) (float64, error) {
	for _, bad := range [...]error{last.badBusy, last.badIdle, now.badBusy, now.badIdle} {
		if bad != nil {
			return 0, &ChannelError{cpuName, u.stat.path, bad}
		}
	}
	if now.Busy < last.Busy || now.Steal < last.Steal || now.idle < last.idle {
		return 0, &ChannelError{cpuName, u.stat.path, ErrBackwards}
	}
	busy, idle := float64(now.Busy-last.Busy), float64(now.idle-last.idle)
	if now.iowait > last.iowait {
		idle += float64(now.iowait - last.iowait)
	}
	switch all := (busy + idle) / ticksPerSecond; {
	case all == 0:
		return 0, &ChannelError{cpuName, u.stat.path, ErrNoInterval}
	case all > most+float64(now.Online)/ticksPerSecond: // one is counted when it ends
		return 0, &ChannelError{cpuName, u.stat.path, leapt(all, most)}
	case idle == 0 && all < (most-lateness.Seconds()*float64(now.Online))/2:
		return 0, &ChannelError{cpuName, u.stat.path, ErrStuck}
	}
	return busy / (busy + idle), nil
}

// leapt is the error of a counter that grew by so many seconds.
func leapt(grew, most float64) error {
	return fmt.Errorf("%w: %.3f s of CPU time in at most %.3f s", ErrLeap, grew, most)
}

// stolen is the time in seconds that the hypervisor gave to other machines while
// a CPU of this one had work, unless usage counts it itself.
func (u *cpu) stolen(last, now cpuReading) float64 {
	if u.usage.countsSteal(now) {
		return 0
	}
	return float64(now.Steal-last.Steal) / ticksPerSecond
}

// usage is a counter of CPU time used, summed over CPUs.
type usage struct {
	kind   CPUCounter
	file   *file
	parse  func([]byte) (uint64, error)
	second float64 // units a second
}

// findUsage returns the counter c asks for, nil for CounterStat and where
// CounterAuto finds none better.
func findUsage(c Config) (*usage, error) {
	if c.Counter == CounterAuto || c.Counter == CounterCpuacct {
		if u := findCpuacct(c.CgroupRoot); u != nil {
			return u, nil
		}
	}
	if c.Counter == CounterAuto || c.Counter == CounterCgroup {
		if u := findCPUStat(c.CgroupRoot); u != nil {
			return u, nil
		}
	}
	switch c.Counter {
	case CounterCpuacct:
		return nil, &ChannelError{cpuName, filepath.Join(c.CgroupRoot, "cpuacct", "cpuacct.usage"), os.ErrNotExist}
	case CounterCgroup:
		return nil, &ChannelError{cpuName, filepath.Join(c.CgroupRoot, "cpu.stat"), os.ErrNotExist}
	}
	return nil, nil
}

// findCpuacct looks for the root of the v1 controller. Inside a container the
// same path is the container's own cgroup; only the true root has
// cgroup.sane_behavior.
func findCpuacct(root string) *usage {
	for _, name := range []string{"cpuacct", "cpu,cpuacct", "cpuacct,cpu"} {
		dir := filepath.Join(root, name)
		u := &usage{CounterCpuacct, newFile(filepath.Join(dir, "cpuacct.usage"), 64), ParseCounter, 1e9}
		if exists(filepath.Join(dir, "cgroup.sane_behavior")) && u.works() {
			return u
		}
	}
	return nil
}

// findCPUStat looks for cpu.stat of the root of cgroup v2, in the hybrid layout
// under unified. Inside a container's cgroup namespace the same path is the
// container's own cgroup; only the true root has no cgroup.type.
func findCPUStat(root string) *usage {
	for _, dir := range []string{root, filepath.Join(root, "unified")} {
		u := &usage{CounterCgroup, newFile(filepath.Join(dir, "cpu.stat"), 1<<10), ParseCPUStat, 1e6}
		if exists(filepath.Join(dir, "cgroup.controllers")) && !exists(filepath.Join(dir, "cgroup.type")) && u.works() {
			return u
		}
	}
	return nil
}

func (u *usage) works() bool {
	if _, err := u.read(); err != nil {
		u.file.close()
		return false
	}
	return true
}

func (u *usage) read() (uint64, error) { return readAs(cpuName, u.file, u.parse) }

// stealMargin is how many ticks of steal there must have been before they can be
// found in a counter: the kernel rounds each of the seven times it is compared
// with.
const stealMargin = 20

// countsSteal reports whether steal time is in the counter, as before Linux 6.15 in
// cpu.stat of the root, which sums up what /proc/stat shows: since the start of
// the machine it then exceeds the other times by it. cpuacct measures what tasks
// ran, which steal is not.
func (u *usage) countsSteal(r cpuReading) bool {
	if u.kind != CounterCgroup || r.Steal < stealMargin || r.badBusy != nil {
		return false
	}
	others := float64(r.Busy-r.Steal) / ticksPerSecond
	return float64(r.used)/u.second-others > float64(r.Steal)/ticksPerSecond/2
}

// waitingSamples is how many readings of the runnable tasks are averaged, half a
// second at 10 Hz. Each shows one moment only: of tasks that run in short
// bursts a single one is off by as many tasks as there are, in either direction,
// and the share is bounded, so that what is off does not cancel afterwards.
const waitingSamples = 5

// waiting is the mean number of tasks that waited for a CPU.
type waiting struct {
	tasks [waitingSamples]float64
	count int
}

// share takes a reading, with the utilisation of the time before it, and returns
// the tasks that waited in the last readings, a CPU, at most 1. Of the tasks that
// could run, one is the reader itself and as many as there are busy CPUs do run.
func (w *waiting) share(runnable uint64, utilisation float64, cpus int) float64 {
	others := max(float64(runnable)-1, 0)
	w.tasks[w.count%waitingSamples] = others - utilisation*float64(cpus)
	w.count++
	n := min(w.count, waitingSamples)
	sum := 0.
	for _, tasks := range w.tasks[:n] {
		sum += tasks
	}
	return clamp(sum / float64(n) / float64(cpus))
}
