package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// processes are real consumers, each a process on its package's CPUs.
type processes struct {
	burners []*burner
}

// burner is a process that takes as much CPU time as it is told to.
type burner struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// startProcesses runs the consumers on these CPUs and has the calling goroutine, which is
// to read them, keep a thread that runs ahead of them. They end with ctx; the caller must
// stop them, after an error too.
func startProcesses(ctx context.Context, consumers []consumer, cores int, cpus []int) (*processes, error) {
	runtime.LockOSThread() // it ends with the process, for its priority is its own
	p := &processes{}
	path, err := self()
	if err != nil {
		return p, err
	}
	for _, c := range consumers {
		from := min(c.socket*cores, len(cpus)-1) // of one CPU both packages have it
		// A process begins with the CPUs and the priority of the thread that starts it,
		// and the Go runtime's own threads of a burner have no others.
		if err := pin(cpus[from : from+cores]); err != nil {
			return p, err
		}
		b, err := startBurner(ctx, path, c.threads)
		if err != nil {
			return p, err
		}
		p.burners = append(p.burners, b)
	}
	prefer()
	return p, pin(cpus)
}

// startBurner runs a process. It ends with ctx, or when its input does.
func startBurner(ctx context.Context, path string, threads int) (*burner, error) {
	cmd := exec.CommandContext(ctx, path, "burn", strconv.Itoa(threads))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &burner{cmd: cmd, in: in}, cmd.Start()
}

func (p *processes) set(cores []float64) error {
	var failed []error
	for i, b := range p.burners {
		_, err := fmt.Fprintln(b.in, cores[i])
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (p *processes) readTo(dst []time.Duration) error {
	for i, b := range p.burners {
		var err error
		if dst[i], err = children.CPUTime(b.cmd.Process.Pid); err != nil {
			return err
		}
	}
	return nil
}

func (p *processes) now() time.Time { return time.Now() }

func (p *processes) sleep(ctx context.Context, until time.Time) error {
	return program.Sleep(ctx, time.Until(until))
}

func (p *processes) stop() {
	for _, b := range p.burners {
		_ = b.in.Close()
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait() // being killed is no error
	}
}
