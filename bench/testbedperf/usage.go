package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// usage is the processor time that something takes, of this program with its control
// plane and of each of our programs: unlike the time by the wall it says something on a
// machine that does other things, too. Not safe for concurrent use.
type usage struct {
	of         []watched
	before     []float64 // s
	collecting float64   // s, by this program
}

// watched is a process that is looked at.
type watched struct {
	name string
	pid  int
}

// ready returns when nothing of what came before is under way any more, as events of pods that
// were bound, and has this program collect its garbage, as Go's own benchmarks do before each, so
// that none of it need be collected in what is timed next.
func (c *cluster) ready(ctx context.Context) error {
	const look, calm = 250 * time.Millisecond, .1 // cores
	for begin := c.use(); ; begin = c.use() {
		if err := program.Sleep(ctx, look); err != nil {
			return err
		}
		if begin.total() < calm*look.Seconds() {
			break
		}
	}
	if c.o.collect {
		runtime.GC()
	}
	return nil
}

// use begins to measure.
func (c *cluster) use() *usage {
	u := &usage{of: []watched{{"control plane", os.Getpid()}}}
	for _, s := range c.programs {
		u.of = append(u.of, watched{s.name, s.process.Process.Pid})
	}
	u.before, u.collecting = u.now(), collecting()
	return u
}

func (u *usage) now() []float64 {
	all := make([]float64, len(u.of))
	for i, p := range u.of {
		if d, err := process.CPU(p.pid); err == nil {
			all[i] = d.Seconds()
		}
	}
	return all
}

// collecting is how much this program has collected garbage so far. The runtime notes it at
// the end of a collection.
func collecting() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64()
}

// total is what all used since, in seconds.
func (u *usage) total() (seconds float64) {
	for i, now := range u.now() {
		seconds += now - u.before[i]
	}
	return seconds
}

// String says what was used since.
func (u *usage) String() string {
	var parts []string
	for i, now := range u.now() {
		parts = append(parts, fmt.Sprintf("%s %.2f", u.of[i].name, now-u.before[i]))
	}
	parts[0] += fmt.Sprintf(" (collecting garbage %.2f)", collecting()-u.collecting)
	slices.Sort(parts)
	return "processor seconds: " + strings.Join(parts, ", ")
}
