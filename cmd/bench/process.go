package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// Usage is what a process took of its machine.
type Usage struct {
	// Cores is its CPU time over the time by the wall.
	Cores float64
	// MeanMiB and MaxMiB are of VmRSS, PeakMiB is VmHWM: the most since the process started.
	MeanMiB, MaxMiB, PeakMiB float64
}

// Follow looks at processes once a second for a duration, and returns what each took.
func Follow(ctx context.Context, duration time.Duration, pids ...int) ([]Usage, error) {
	began, usages := time.Now(), make([]Usage, len(pids))
	for samples := 0.; ; samples++ {
		elapsed := time.Since(began)
		for i, pid := range pids {
			u := &usages[i]
			cpu, err := children.CPUTime(pid)
			if err != nil {
				return nil, err
			}
			switch {
			case samples == 0:
				u.Cores = -cpu.Seconds()
			case elapsed >= duration:
				u.Cores = (u.Cores + cpu.Seconds()) / time.Since(began).Seconds()
			}
			p, err := procfs.NewProc(pid)
			if err != nil {
				return nil, err
			}
			status, err := p.NewStatus()
			if err != nil {
				return nil, err
			}
			resident := float64(status.VmRSS) / (1 << 20)
			u.MeanMiB += (resident - u.MeanMiB) / (samples + 1)
			u.MaxMiB, u.PeakMiB = max(u.MaxMiB, resident), float64(status.VmHWM)/(1<<20)
		}
		if elapsed >= duration {
			return usages, nil
		}
		if err := Sleep(ctx, min(time.Second, duration-elapsed)); err != nil {
			return nil, err
		}
	}
}

// Sleep returns after d, or before that with the reason why ctx has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Build returns path, or if that is empty compiles a program of cmd, as spazio-agent, into dir and
// returns where it is. What the compiler says goes to progress. It needs the workspace that holds
// the working directory.
func Build(ctx context.Context, path, name, dir string, progress io.Writer) (string, error) {
	if path != "" {
		return path, nil
	}
	path = filepath.Join(dir, name)
	fmt.Fprintf(progress, "building %s\n", name)
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, "github.com/spazio-scheduler/spazio/cmd/"+name)
	// GOWORK=off of a caller that looks at one module is not meant for cmd, which
	// needs its siblings.
	cmd.Env = append(os.Environ(), "GOWORK=")
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}

// ExecRole names the role Exec, which each program that calls Start has.
const ExecRole = "exec"

// Exec is the role of a child that becomes another program: its arguments are that and the program's.
func Exec(_ context.Context, args []string, _ io.Reader, _ io.Writer) error {
	return syscall.Exec(args[0], args, os.Environ())
}

// Start runs in a group the program at path, or if that is empty the one that Build makes. The last that
// the program writes to its standard error is in the error with which it ends.
func Start(ctx context.Context, g *children.Group, progress io.Writer, path, name string, args ...string) (*children.Process, error) {
	path, err := Build(ctx, path, name, g.Dir(), progress)
	if err != nil {
		return nil, err
	}
	return g.Start(children.Spec{Role: ExecRole, Args: append([]string{path}, args...)})
}

// Await returns once a process's metrics are as check wants them. It is an error if the process ends
// before.
func Await(ctx context.Context, p *children.Process, addr string, check func(endpoint.Metrics) bool) error {
	for {
		if m, err := Scrape(ctx, addr); err == nil && check(m) {
			return nil
		}
		select {
		case <-p.Done():
			return errors.Join(children.ErrEnded, p.Err())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Scrape reads the metrics of a server at an address, over a connection of its own.
func Scrape(ctx context.Context, addr string) (endpoint.Metrics, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return endpoint.Scraper{URL: "http://" + addr, Client: client}.Scrape(ctx)
}
