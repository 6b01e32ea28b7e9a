package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
)

// A load is what a pod does until it is killed.
type load struct {
	name string
	// threads of the pod; idle: of the scheduling class for idle times; limit: its
	// CPU limit in cores, 0 for none.
	threads int
	idle    bool
	limit   float64
	run     func()
}

var loads = []load{
	{name: "loop", threads: 1, run: loop},
	{name: "threads", threads: 4, run: loop},
	{name: "burst", threads: 1, run: burst},
	{name: "tick", threads: 1, run: tick},
	{name: "write", threads: 1, run: write},
	{name: "limit", threads: 1, limit: .3, run: loop},
	{name: "idle", threads: 1, idle: true, run: loop},
}

// jobLoad is that of pods which end: it takes its CPU time in seconds.
const jobLoad = "job"

// job runs until this process has had so much CPU time.
func job(d time.Duration) error {
	for {
		spin(time.Millisecond)
		used, err := process.Own()
		if err != nil || used >= d {
			return err
		}
	}
}

func loadNames() []string {
	names := make([]string, len(loads))
	for i, l := range loads {
		names[i] = l.name
	}
	return names
}

func loadNamed(name string) load {
	return loads[slices.IndexFunc(loads, func(l load) bool { return l.name == name })]
}

func loop() {
	for {
		spin(time.Hour)
	}
}

// burst runs and sleeps for 5 ms each in the mean, exponentially.
func burst() {
	const mean = 5 * time.Millisecond
	for {
		spin(time.Duration(rand.ExpFloat64() * float64(mean)))
		time.Sleep(time.Duration(rand.ExpFloat64() * float64(mean)))
	}
}

// tick runs for the first half of every tenth of a second of the wall clock: in
// step with whoever samples ten times a second, and with all others of its kind.
func tick() {
	const period = 100 * time.Millisecond
	for {
		now := time.Now()
		next := now.Truncate(period).Add(period)
		time.Sleep(next.Sub(now))
		spin(period / 2)
	}
}

// write syncs 4 KiB to a file each time: it wakes often and runs briefly.
func write() {
	f, err := os.CreateTemp("/var/tmp", "contention")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer f.Close()
	_ = os.Remove(f.Name())
	buf := make([]byte, 4096)
	for {
		if _, err := f.WriteAt(buf, 0); err != nil {
			return
		}
		if err := f.Sync(); err != nil {
			return
		}
	}
}

// spin takes so much time, not CPU time.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// loadCommand is what the pods run: it waits for a byte, by which it has been put
// into its group.
func loadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "load NAME|job DURATION", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 && args[0] == jobLoad || len(args) == 1 && slices.Contains(loadNames(), args[0]) {
				return nil
			}
			return fmt.Errorf("no load %q", args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
				return errors.New("not told to begin")
			}
			if args[0] != jobLoad {
				return loadNamed(args[0]).start()
			}
			d, err := time.ParseDuration(args[1])
			if err != nil {
				return err
			}
			runtime.GOMAXPROCS(1)
			return job(d)
		},
	}
}

func (l load) start() error {
	runtime.GOMAXPROCS(l.threads)
	failed := make(chan error, l.threads)
	for range l.threads {
		go func() {
			runtime.LockOSThread()
			if l.idle {
				if err := becomeIdle(); err != nil {
					failed <- err
					return
				}
			}
			l.run()
			failed <- errors.New("the load has ended")
		}()
	}
	return <-failed
}
