package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/figures/measured"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// recorder samples the machine while loads run.
type recorder struct {
	recording measured.Recording
	progress  io.Writer
	// busy reads utilisation, waiting reads pressure, memory and its pressure.
	busy, waiting *telemetry.Reader
	self          string
}

func newRecorder(progress io.Writer) (*recorder, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	busy, err := telemetry.NewReader(telemetry.Config{CPU: telemetry.CPUUtilisation})
	if err != nil {
		return nil, err
	}
	waiting, err := telemetry.NewReader(telemetry.Config{
		CPU: telemetry.CPUContended, Contention: telemetry.ContentionPressure, Channels: telemetry.Channels{MemoryPressure: true},
	})
	if err != nil {
		return nil, errors.Join(err, busy.Close())
	}
	r := &recorder{progress: progress, busy: busy, waiting: waiting, self: self}
	r.recording = measured.Recording{Version: measured.Version, Machine: describe(busy)}
	return r, nil
}

func (r *recorder) close() {
	_ = r.busy.Close()
	_ = r.waiting.Close()
}

func describe(reader *telemetry.Reader) measured.Machine {
	sizes := reader.Sizes()
	return measured.Machine{
		CPU: firstField("/proc/cpuinfo", "model name"), Kernel: firstLine("/proc/sys/kernel/osrelease"),
		Cores: int(sizes[0]), Memory: sizes[1], Counter: reader.Counter().String(),
		Day: time.Now().UTC().Format(time.DateOnly),
	}
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

func firstField(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// during samples with the given period while load runs, and adds the run. load
// gets the run's clock and fills jobs and marks.
func (r *recorder) during(ctx context.Context, name string, workers int, period time.Duration, load func(context.Context, *clock) error) error {
	fmt.Fprintf(r.progress, "%s, %d\n", name, workers)
	run := measured.Run{Load: name, Workers: workers}
	c := &clock{start: time.Now()}
	sampling, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.sample(sampling, &run, c.start, period)
	}()
	err := load(ctx, c)
	stop()
	<-done
	run.Jobs, run.Marks = c.jobs, c.sorted()
	r.recording.Runs = append(r.recording.Runs, run)
	return err
}

func (r *recorder) sample(ctx context.Context, run *measured.Run, start time.Time, period time.Duration) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	var busy, waiting []float64
	for {
		now := time.Now()
		var errBusy, errWaiting error
		busy, errBusy = r.busy.SampleTo(busy, now)
		waiting, errWaiting = r.waiting.SampleTo(waiting, now)
		if average, err := avg10(); errors.Join(errBusy, errWaiting, err) == nil {
			run.At = append(run.At, now.Sub(start).Seconds())
			run.Utilisation = append(run.Utilisation, busy[0])
			run.Pressure = append(run.Pressure, waiting[0])
			run.Avg10 = append(run.Avg10, average)
			run.Memory = append(run.Memory, waiting[1])
			run.Stall = append(run.Stall, waiting[2])
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// avg10 is the kernel's mean CPU pressure over ten seconds, as a share.
func avg10() (float64, error) {
	for field := range strings.FieldsSeq(firstLine("/proc/pressure/cpu")) {
		if percent, ok := strings.CutPrefix(field, "avg10="); ok {
			v, err := strconv.ParseFloat(percent, 64)
			return v / 100, err
		}
	}
	return 0, errors.New("no avg10 in /proc/pressure/cpu")
}
