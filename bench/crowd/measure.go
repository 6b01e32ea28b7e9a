package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/procfs"
)

// batch is what one batch took. Its JSON names are for scripts.
type batch struct {
	Runtime string `json:"runtime"`
	Load    string `json:"load"`
	AtOnce  int    `json:"at_once"`
	Round   int    `json:"round"`
	// Seconds are those from the first start to the last end.
	Seconds float64 `json:"seconds"`
	// The others are means of a task: the CPU seconds of its work and of the rest of
	// the machine, the seconds from its start to its work, how often it was taken off
	// its CPU.
	Work     float64 `json:"work"`
	Besides  float64 `json:"besides"`
	Start    float64 `json:"start"`
	Switches float64 `json:"switches"`
}

// measure runs all batches.
func measure(ctx context.Context, o options, progress io.Writer) (r report, err error) {
	r.Tasks, r.AtOnce = o.tasks, o.atOnce
	for _, runtime := range o.runtimes {
		s, err := newStarter(o, runtime)
		if err != nil {
			return r, err
		}
		batches, err := s.rounds(ctx, progress)
		r.Batches = append(r.Batches, batches...)
		if err := errors.Join(err, s.close()); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (s *starter) rounds(ctx context.Context, progress io.Writer) (batches []batch, err error) {
	for _, load := range s.loads {
		steps, err := s.calibrate(ctx, load)
		if err != nil {
			return batches, err
		}
		for round := range s.options.rounds {
			for i := range s.atOnce {
				b, err := s.batch(ctx, load, steps, s.atOnce[(i+round)%len(s.atOnce)], round)
				if err != nil {
					return batches, err
				}
				fmt.Fprintf(progress, "%s, %s, %d at once, round %d of %d: %.2f s\n", b.Runtime, b.Load, b.AtOnce, round+1, s.options.rounds, b.Seconds)
				batches = append(batches, b)
			}
		}
	}
	return batches, nil
}

// calibrate returns the steps of a load that take the time wanted of a task alone.
func (s *starter) calibrate(ctx context.Context, load string) (steps string, err error) {
	d, err := s.run(ctx, s.name(load, 0, 0, 0), load, s.work.String())
	return strconv.Itoa(d.Steps), err
}

// name is a container's, which nobody had before.
func (s *starter) name(load string, atOnce, round, task int) string {
	return fmt.Sprintf("%s-%d-%d-%d-%d", load, atOnce, round, task, time.Now().UnixNano())
}

// batch runs all tasks, at most so many at once.
func (s *starter) batch(ctx context.Context, load, steps string, atOnce, round int) (batch, error) {
	b := batch{Runtime: s.runtime, Load: load, AtOnce: atOnce, Round: round}
	before, err := busy()
	if err != nil {
		return b, err
	}
	began := time.Now()
	var (
		free   = make(chan struct{}, atOnce)
		mu     sync.Mutex
		failed []error
		all    sync.WaitGroup
	)
	for task := range s.tasks {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			start := time.Now()
			d, err := s.run(ctx, s.name(load, atOnce, round, task), load, steps)
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
			b.Work += d.CPU
			b.Start += d.Began.Sub(start).Seconds()
			b.Switches += float64(d.Switches)
		})
	}
	all.Wait()
	b.Seconds = time.Since(began).Seconds()
	after, err := busy()
	if err := errors.Join(append(failed, err)...); err != nil {
		return b, err
	}
	n := float64(s.tasks)
	b.Besides = (after - before - b.Work) / n
	b.Work, b.Start, b.Switches = b.Work/n, b.Start/n, b.Switches/n
	return b, nil
}

// busy is the CPU time that the machine has spent so far, in seconds.
func busy() (float64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	stat, err := fs.Stat()
	if err != nil {
		return 0, err
	}
	t := stat.CPUTotal
	return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ, nil
}
