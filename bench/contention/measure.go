package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// trial is one combination to measure.
type trial struct {
	load, class      string
	pods             int
	settle, duration time.Duration
}

// run measures one trial.
func run(ctx context.Context, self string, t trial) (r row, err error) {
	// The kernel ties the pods' lives to the thread that starts them.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := startPods(self, t)
	defer func() { err = errors.Join(err, p.stop()) }()
	if err != nil {
		return row{}, err
	}
	if err := program.Sleep(ctx, t.settle); err != nil {
		return row{}, err
	}
	m, err := newMeter(p)
	defer m.close()
	if err != nil {
		return row{}, err
	}
	// Another thread samples, for to hand over to this one would take two at once.
	var samples []sample
	done := make(chan struct{})
	go func() {
		defer close(done)
		samples, err = m.during(ctx, t.duration)
	}()
	<-done
	if err != nil {
		return row{}, err
	}
	return summarise(t, samples), nil
}

// longest is how long this process may have waited for a CPU itself.
const longest = 5 * time.Second

// meter reads what the candidates are made of.
type meter struct {
	utilised, runnable, pressure *telemetry.Reader

	cpus    float64
	tasks   *tasks
	used    []*os.File // of each pod
	stalled []*os.File // of each pod; empty where the kernel has none
	v2      bool
}

// counters are sums in seconds: what the pods used and stalled, and what all tasks
// waited.
type counters struct {
	at                    time.Time
	used, stalled, waited float64
}

// sample is one reading: utilisation, the mean number of tasks that ran, of those
// that waited and of CPUs that the pods used, and the candidates' channels.
type sample struct {
	seconds, utilisation  float64
	running, waited, used float64
	channels              [len(candidates)]float64
}

func newMeter(p *pods) (*meter, error) {
	m := &meter{v2: p.tree.v2}
	var err error
	if m.tasks, err = newTasks(); err != nil {
		return m, err
	}
	for _, r := range []struct {
		reader **telemetry.Reader
		config telemetry.Config
	}{
		{&m.utilised, telemetry.Config{CPU: telemetry.CPUUtilisation, MaxInterval: longest}},
		{&m.runnable, telemetry.Config{MaxInterval: longest}},
		{&m.pressure, telemetry.Config{Contention: telemetry.ContentionPressure, MaxInterval: longest}},
	} {
		if *r.reader, err = telemetry.NewReader(r.config); err != nil {
			return m, err
		}
	}
	m.cpus = m.utilised.Sizes()[0]
	for _, group := range p.groups {
		name := "cpuacct.usage"
		if m.v2 {
			name = "cpu.stat"
		}
		if err := open(&m.used, filepath.Join(p.tree.usage, p.tree.name, group, name)); err != nil {
			return m, err
		}
		if path := filepath.Join(p.tree.pressure, p.tree.name, group, "cpu.pressure"); p.tree.pressure != "" && exists(path) {
			if err := open(&m.stalled, path); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

func open(files *[]*os.File, path string) error {
	f, err := os.Open(path)
	if err == nil {
		*files = append(*files, f)
	}
	return err
}

func (m *meter) close() {
	if m == nil {
		return
	}
	m.tasks.close()
	for _, files := range [][]*os.File{m.used, m.stalled} {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for _, r := range []*telemetry.Reader{m.utilised, m.runnable, m.pressure} {
		if r != nil {
			_ = r.Close()
		}
	}
}

// during samples when an agent does.
func (m *meter) during(ctx context.Context, d time.Duration) ([]sample, error) {
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	s := &sampling{Reader: m.runnable, meter: m, stop: cancel}
	a, err := node.New(node.Config{Name: "contention", Meter: s, Pods: telemetry.StaticPods(nil)})
	if err != nil {
		return nil, err
	}
	err = a.Run(limited)
	return s.samples, errors.Join(err, s.err, ctx.Err())
}

// sampling is what the agent takes for the machine.
type sampling struct {
	*telemetry.Reader
	meter   *meter
	samples []sample
	last    counters
	err     error
	stop    func()
}

// SampleTo takes a sample and keeps it from the agent.
func (s *sampling) SampleTo(dst []float64, _ time.Time) ([]float64, error) {
	now := time.Now()
	values, err := s.meter.sample(now)
	sums, failed := s.meter.counters(now)
	if failed == nil && !errors.Is(err, telemetry.ErrPriming) {
		failed = err
	}
	switch {
	case failed != nil:
		s.err = failed
		s.stop()
	case err == nil:
		s.samples = append(s.samples, s.meter.compare(values, s.last, sums))
	}
	s.last = sums
	return dst, telemetry.ErrPriming
}

// sample reads utilisation, runnable and pressure.
func (m *meter) sample(at time.Time) (values [3]float64, err error) {
	// The reader of the runnable tasks comes first: what the others wake up is not
	// there yet.
	for i, r := range []*telemetry.Reader{1: m.runnable, 0: m.utilised, 2: m.pressure} {
		y, failed := r.SampleTo(nil, at)
		if err = errors.Join(err, failed); failed == nil {
			values[i] = y[0]
		}
	}
	return values, err
}

func (m *meter) counters(at time.Time) (counters, error) {
	c := counters{at: at, waited: m.tasks.waited()}
	for _, f := range m.used {
		text, err := contents(f)
		if err != nil {
			return c, err
		}
		if m.v2 {
			used, err := telemetry.ParseCPUStat(text)
			if err != nil {
				return c, err
			}
			c.used += float64(used) / 1e6
			continue
		}
		used, err := telemetry.ParseCounter(text)
		if err != nil {
			return c, err
		}
		c.used += float64(used) / 1e9
	}
	for _, f := range m.stalled {
		text, err := contents(f)
		if err != nil {
			return c, err
		}
		stall, err := telemetry.ParsePressure(text)
		if err != nil {
			return c, err
		}
		c.stalled += float64(stall.Some) / 1e6
	}
	return c, nil
}

// compare makes the channels of one interval.
func (m *meter) compare(values [3]float64, last, now counters) sample {
	seconds := now.at.Sub(last.at).Seconds()
	s := sample{
		seconds: seconds, utilisation: values[0],
		running: values[0] * m.cpus, waited: (now.waited - last.waited) / seconds, used: (now.used - last.used) / seconds,
	}
	half := func(waiting float64) float64 { return (s.utilisation + min(max(waiting/m.cpus, 0), 1)) / 2 }
	s.channels = [...]float64{values[1], values[2], half((now.stalled - last.stalled) / seconds), half(s.waited)}
	return s
}

// contents reads a file of the kernel from its start.
func contents(f *os.File) ([]byte, error) {
	buf := make([]byte, 1024)
	n, err := f.ReadAt(buf, 0)
	if n == 0 {
		return nil, err
	}
	return buf[:n], nil
}

func onlineCPUs() (int, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	stat, err := telemetry.ParseStat(text)
	return stat.Online, err
}
