package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// run measures for o.duration. Everything it starts has ended when it returns,
// and the temporary directory is gone.
func run(ctx context.Context, o options, stderr io.Writer) (result, error) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return result{}, errNotLinux
	}
	dir, err := os.MkdirTemp("", "spazio-footprint-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	if o.agent == "" {
		if o.agent, err = program.Build(ctx, "spazio-agent", dir, stderr); err != nil {
			return result{}, err
		}
	}
	made, kind, err := newGroups(o, dir)
	if err != nil {
		return result{}, err
	}
	r, err := runWith(ctx, o, dir, newTree(made))
	r.Cgroups = kind
	return r, errors.Join(err, made.close())
}

// runWith measures with pods in the cgroups of a tree.
func runWith(ctx context.Context, o options, dir string, cgroups *tree) (result, error) {
	var r result
	g, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	full := make(chan struct{})
	g.Go(func() error { return cgroups.churn(ctx, o.pods, o.rate, func() { close(full) }) })
	g.Go(func() error {
		defer cancel()
		select {
		case <-full:
		case <-ctx.Done():
			return ctx.Err()
		}
		var err error
		switch {
		case o.energy:
			r, err = compareEnergy(ctx, o, dir, cgroups)
		case o.usage:
			r, err = compareUsage(ctx, o, cgroups)
		default:
			r, err = measure(ctx, o, cgroups)
		}
		return err
	})
	return r, g.Wait()
}

// measure runs the agent and the node exporter side by side.
func measure(ctx context.Context, o options, cgroups *tree) (r result, err error) {
	var server peers
	addr, stop, err := server.serve(ctx)
	if err != nil {
		return r, err
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	var scrapers sync.WaitGroup
	defer scrapers.Wait()
	defer cancel()

	agent, err := start(ctx, o.agent, func(listen string) []string {
		args := []string{
			"--listen", listen, "--node-name", "footprint", "--cgroup-root", cgroups.root(),
			"--schedulers", addr.String(), "--aggregator", addr.String(), "--log-level", "warn",
		}
		if o.usage {
			args = append(args, "--usage", "on", "--profiler", addr.String())
		}
		return append(args, o.agentArgs...)
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, agent.stop()) }()
	var exporter *measured
	var scrapes, agentScrapes atomic.Int64
	if o.exporter != "" {
		if exporter, err = start(ctx, o.exporter, func(listen string) []string {
			return []string{"--web.listen-address", listen, "--log.level", "error"}
		}); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, exporter.stop()) }()
		scrapers.Go(func() { scrapeEvery(ctx, exporter.listen, time.Second, &scrapes) })
	}
	scrapers.Go(func() { scrapeEvery(ctx, agent.listen, o.scrapeAgent, &agentScrapes) })
	if err := program.Sleep(ctx, o.warmUp); err != nil {
		return r, err
	}

	before := counts(cgroups, &server, &scrapes)
	began := time.Now()
	usages, err := follow(ctx, o.duration, agent, exporter)
	if err != nil {
		return r, err
	}
	r = counts(cgroups, &server, &scrapes).since(before)
	r.Seconds, r.Pods, r.Rate = time.Since(began).Seconds(), o.pods, o.rate
	r.Agent = usages[0]
	if exporter != nil {
		r.Exporter = &usages[1]
	}
	return r, nil
}

func counts(t *tree, p *peers, scrapes *atomic.Int64) result {
	return result{
		Started: int(t.started.Load()), Ended: int(t.ended.Load()), Running: int(t.running.Load()),
		Reports: int(p.reports.Load()), Heartbeats: int(p.heartbeats.Load()), Pushes: int(p.pushes.Load()), Counted: int(p.pods.Load()), Windows: int(p.windows.Load()),
		Powers:  int(p.powers.Load()),
		Scrapes: int(scrapes.Load()),
	}
}

func (r result) since(before result) result {
	r.Started -= before.Started
	r.Ended -= before.Ended
	r.Reports -= before.Reports
	r.Heartbeats -= before.Heartbeats
	r.Pushes -= before.Pushes
	r.Scrapes -= before.Scrapes
	r.Windows -= before.Windows
	r.Powers -= before.Powers
	return r
}

// follow looks at the processes once a second; a nil one is left out.
func follow(ctx context.Context, duration time.Duration, processes ...*measured) ([]usage, error) {
	var meters []*meter
	for _, p := range processes {
		if p == nil {
			continue
		}
		m, err := newMeter(p.cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		meters = append(meters, m)
	}
	for end := time.Now().Add(duration); time.Now().Before(end); {
		for _, m := range meters {
			if err := m.sample(); err != nil {
				return nil, err
			}
		}
		if err := program.Sleep(ctx, min(time.Second, time.Until(end))); err != nil {
			return nil, err
		}
	}
	usages := make([]usage, len(meters))
	for i, m := range meters {
		var err error
		if usages[i], err = m.total(); err != nil {
			return nil, err
		}
	}
	return usages, nil
}

// measured is a server under measurement.
type measured struct {
	cmd    *exec.Cmd
	listen string
	stderr bytes.Buffer // read once it has ended
	ended  chan error
}

// start runs a server on a port that was free a moment ago and waits until it
// answers a scrape.
func start(ctx context.Context, path string, args func(listen string) []string) (*measured, error) {
	listen, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &measured{cmd: exec.Command(path, args(listen)...), listen: listen, ended: make(chan error, 1)}
	p.cmd.Stderr = &p.stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	for scrape(ctx, listen) != nil {
		select {
		case err := <-p.ended:
			return nil, fmt.Errorf("%s ended: %w: %s", path, err, bytes.TrimSpace(p.stderr.Bytes()))
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.stop())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return p, nil
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// stop ends the process; being ended by the signal is no error.
func (p *measured) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	err := <-p.ended
	var ended *exec.ExitError
	if errors.As(err, &ended) && !ended.Exited() {
		return nil
	}
	return err
}
