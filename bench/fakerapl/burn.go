package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/simnode/children"
)

// burner is a process that takes as much CPU time as it is told to.
type burner struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	socket int
}

// startBurner runs a process on the CPUs. It ends with ctx, or when its input does.
func startBurner(ctx context.Context, path string, socket, threads int, cpus []int) (*burner, error) {
	var list []string
	for _, cpu := range cpus {
		list = append(list, strconv.Itoa(cpu))
	}
	cmd := exec.CommandContext(ctx, path, "burn", strconv.Itoa(threads), strings.Join(list, ","))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &burner{cmd: cmd, in: in, socket: socket}, cmd.Start()
}

// set tells it how many cores to keep busy.
func (b *burner) set(cores float64) error {
	_, err := fmt.Fprintln(b.in, cores)
	return err
}

// cpu is the CPU time that it has taken.
func (b *burner) cpu() (time.Duration, error) { return children.CPUTime(b.cmd.Process.Pid) }

func (b *burner) stop() {
	_ = b.in.Close()
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait() // being killed is no error
}

// burnCommand is what a burner runs: it takes cores, a number a line, and ends with its
// input.
func burnCommand() *cobra.Command {
	return &cobra.Command{
		Use: "burn THREADS CPU[,CPU…]", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return burn(c.InOrStdin(), args[0], args[1]) },
	}
}

func burn(in io.Reader, count, list string) error {
	threads, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	var cpus []int
	for field := range strings.SplitSeq(list, ",") {
		cpu, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		cpus = append(cpus, cpu)
	}
	runtime.GOMAXPROCS(threads + 1)
	var level atomic.Uint64 // of a thread, in cores
	failed := make(chan error, threads+1)
	for i := range threads {
		go func() { failed <- burnThread(&level, rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(i))), cpus) }()
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
func burnThread(level *atomic.Uint64, random *rand.Rand, cpus []int) error {
	runtime.LockOSThread()
	if err := errors.Join(pin(cpus), lower()); err != nil {
		return err
	}
	var owed time.Duration
	for last := time.Now(); ; {
		now := time.Now()
		cores := math.Float64frombits(level.Load()) * (.5 + random.Float64())
		owed = min(owed+time.Duration(cores*float64(now.Sub(last))), mostOwed)
		last = now
		if missing := quantum - owed; missing > 0 {
			time.Sleep(time.Duration(min(float64(missing)/cores, float64(longest))))
			continue
		}
		used, err := spin(quantum)
		if err != nil {
			return err
		}
		owed -= used
	}
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
