package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/sim/report/figures/measured"
)

const (
	period     = 100 * time.Millisecond
	finePeriod = 10 * time.Millisecond
	// before lets a run begin on an idle machine, after shows the end.
	before, after = time.Second, time.Second
	pause         = 400 * time.Millisecond // between two batches
	enough        = 5 * time.Second        // of batches
	plateau       = 6 * time.Second
	busiest       = 8 // busy workers
)

// held are the shares of the memory that hold takes.
var held = []float64{0, .1, .2, .3, .4}

func (r *recorder) sweep(ctx context.Context, most int) error {
	for _, load := range []string{"pi", "train"} {
		for n := 1; n <= most; n++ {
			err := r.during(ctx, load, n, period, func(ctx context.Context, c *clock) error {
				return r.batches(ctx, c, load, n)
			})
			if err != nil {
				return err
			}
		}
	}
	for n := range busiest + 1 {
		err := r.during(ctx, "busy", n, period, func(ctx context.Context, c *clock) error {
			return r.keep(ctx, c, n, plateau, "busy")
		})
		if err != nil {
			return err
		}
	}
	for _, share := range held {
		bytes := strconv.FormatFloat(share*r.recording.Machine.Memory, 'f', 0, 64)
		err := r.during(ctx, fmt.Sprintf("hold %g", share), 1, period, func(ctx context.Context, c *clock) error {
			return r.keep(ctx, c, 1, plateau/2, "hold", "--memory", bytes)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// batches runs n workers at once, again and again, at least twice.
func (r *recorder) batches(ctx context.Context, c *clock, load string, n int) error {
	if err := program.Sleep(ctx, before); err != nil {
		return err
	}
	var spent time.Duration
	for batch := 0; batch < 2 || spent < enough; batch++ {
		began := time.Now()
		if err := r.batch(ctx, c, batch, n, load); err != nil {
			return err
		}
		spent += time.Since(began)
		if err := program.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return program.Sleep(ctx, after)
}

// batch runs n workers at once until the last is done.
func (r *recorder) batch(ctx context.Context, c *clock, batch, n int, args ...string) error {
	var workers sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		workers.Go(func() { failed[i] = r.worker(ctx, c, batch, i, args...) })
	}
	workers.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// keep runs n workers that do not end by themselves for a while.
func (r *recorder) keep(ctx context.Context, c *clock, n int, span time.Duration, args ...string) error {
	if err := program.Sleep(ctx, before); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	if n == 0 {
		<-limited.Done()
	} else if err := r.batch(limited, c, 0, n, args...); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return program.Sleep(ctx, after)
}

// worker runs one process of this program until it is done or ctx ends.
func (r *recorder) worker(ctx context.Context, c *clock, batch, i int, args ...string) error {
	cmd := exec.Command(r.self, append([]string{"work"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { in.Close() })
	err = cmd.Wait()
	stop()
	end := time.Now()
	if err != nil {
		return fmt.Errorf("worker %v: %w", args, err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	c.job(measured.Job{Batch: batch, Worker: i, Start: c.since(start), End: c.since(end), CPU: used.Seconds()})
	return nil
}
