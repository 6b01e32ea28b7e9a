package fakerapl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// program is what guests are started as.
const program = "qemu-system-x86_64"

// GuestMain is a guest's life, after which the process ends, or returns at once in a process that
// is none. A program that starts guests calls it first of all, for a guest is the program itself,
// started under another name.
func GuestMain() {
	if filepath.Base(os.Args[0]) != program {
		return
	}
	if err := live(os.Stdin, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "fakerapl:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Guest is a process that looks like QEMU's to whoever reads /proc, and takes as much CPU time as it
// is asked to. It is safe for concurrent use, except for Stop.
type Guest struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// StartGuest starts a guest, as qemu-system-x86_64 -name guest=NAME,debug-threads=on -smp VCPUS.
// It takes no CPU time until Set, and ends with ctx, with this process, or by
// Stop, which the caller owes.
func StartGuest(ctx context.Context, name string, vcpus int) (*Guest, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{program, "-name", "guest=" + name + ",debug-threads=on", "-smp", strconv.Itoa(vcpus)}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return &Guest{cmd, in}, nil
}

// Set has it keep so many cores busy, at most its virtual CPUs.
func (g *Guest) Set(cores float64) error {
	_, err := fmt.Fprintln(g.in, cores)
	return err
}

// Stop ends it and waits for it.
func (g *Guest) Stop() {
	_ = g.in.Close()
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait() // being killed is no error
}

// live takes cores, a number a line, and ends with its input.
func live(in io.Reader, args []string) error {
	vcpus, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(vcpus + 1)
	var level atomic.Uint64 // of a virtual CPU, in cores
	for range vcpus {
		go burn(&level)
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		cores, err := strconv.ParseFloat(strings.TrimSpace(lines.Text()), 64)
		if err != nil {
			return err
		}
		level.Store(math.Float64bits(min(cores/float64(vcpus), 1)))
	}
	return lines.Err()
}

// burn keeps a part of a core busy, by turns of a hundredth of a second.
func burn(level *atomic.Uint64) {
	const turn, idle = 10 * time.Millisecond, 200 * time.Millisecond
	for {
		part := math.Float64frombits(level.Load())
		if !(part > 0) {
			time.Sleep(idle)
			continue
		}
		busy := time.Duration(part * float64(turn))
		for began := time.Now(); time.Since(began) < busy; {
			for range 1 << 10 {
				sink.Add(1)
			}
		}
		time.Sleep(turn - busy)
	}
}

// sink keeps the compiler from leaving work out.
var sink atomic.Uint64
