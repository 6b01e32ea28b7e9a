package main

import (
	"bufio"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
)

// burnCommand is what a burner runs: it takes cores, a number a line, and ends with its
// input. All its threads are on the CPUs that it is started on.
func burnCommand() *cobra.Command {
	return &cobra.Command{
		Use: "burn THREADS", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return burn(c.InOrStdin(), args[0]) },
	}
}

func burn(in io.Reader, count string) error {
	threads, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(threads + 1)
	var level atomic.Uint64 // of a thread, in cores
	failed := make(chan error, threads+1)
	for i := range threads {
		go func() { failed <- burnThread(&level, rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(i)))) }()
	}
	go func() {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			cores, err := strconv.ParseFloat(lines.Text(), 64)
			if err != nil {
				failed <- err
			}
			level.Store(math.Float64bits(cores / float64(threads)))
		}
		failed <- lines.Err()
	}()
	return <-failed
}

const (
	// quantum is what a thread burns at a time, and longest how long it sleeps at most
	// until it owes as much, and so how late it follows a new level: to wake up takes
	// CPU time that nobody asked for.
	quantum = 5 * time.Millisecond
	longest = 200 * time.Millisecond
	// mostOwed has a thread that was kept from its CPU forget what it could not burn.
	mostOwed = 50 * time.Millisecond
)

// burnThread burns the level on average, by more or less as programs do.
func burnThread(level *atomic.Uint64, random *rand.Rand) error {
	runtime.LockOSThread()
	if err := lower(); err != nil {
		return err
	}
	began := time.Now()
	for d := (debt{random: random}); ; {
		if wait := d.wait(time.Since(began), math.Float64frombits(level.Load())); wait > 0 {
			time.Sleep(wait)
			continue
		}
		used, err := spin(quantum)
		if err != nil {
			return err
		}
		d.owed -= used
	}
}

// debt is the CPU time that a thread should have taken by now and has not.
type debt struct {
	random *rand.Rand
	owed   time.Duration
	last   time.Duration // when that was
}

// wait adds what falls due until now, at a level in cores, and returns how long to sleep
// until it is a quantum; 0 where it is.
func (d *debt) wait(now time.Duration, level float64) time.Duration {
	cores := level * (.5 + d.random.Float64())
	d.owed = min(d.owed+time.Duration(cores*float64(now-d.last)), mostOwed)
	d.last = now
	if missing := quantum - d.owed; missing > 0 {
		return time.Duration(max(min(float64(missing)/cores, float64(longest)), 1))
	}
	return 0
}

// spin takes so much CPU time of its thread, and says how much it was.
func spin(d time.Duration) (time.Duration, error) {
	began, err := threadTime()
	for used := time.Duration(0); err == nil; {
		if used >= d {
			return used, nil
		}
		work()
		var now time.Duration
		now, err = threadTime()
		used = now - began
	}
	return 0, err
}

// work takes some ten microseconds, so that a burner does more than to look at the clock.
func work() {
	x := uint64(1)
	for range 1 << 14 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

// sink keeps the compiler from leaving work out.
var sink atomic.Uint64
