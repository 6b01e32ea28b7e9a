package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// measure makes one run.
func measure(ctx context.Context, c config, progress io.Writer) (r result, err error) {
	dir, err := os.MkdirTemp("", "spazio-profileload-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if c.profiler == "" && c.days == 0 {
		if c.profiler, err = program.Build(ctx, "spazio-profiler", dir, progress); err != nil {
			return r, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var known *trust
	if c.tls {
		if known, err = newTrust(c.nodes, dir); err != nil {
			return r, err
		}
		c.arguments = append(known.arguments(), c.arguments...)
	}
	server, err := startAPIServer(c, known)
	if err != nil {
		return r, err
	}
	defer server.stop()
	p, err := startProfiler(ctx, c, server, dir)
	if err != nil {
		return r, err
	}
	defer p.stop()
	fmt.Fprintln(progress, "listing pods")
	if err := p.wait(ctx, "spazio_profiler_pods", float64(c.pods)); err != nil {
		return r, err
	}
	if c.days > 0 {
		fmt.Fprintf(progress, "hearing of %d days\n", c.days)
		if err := p.wait(ctx, accepted, float64(c.agedWindows())); err != nil {
			return r, err
		}
	}
	ended := make(chan error, 1)
	loading, stop := context.WithCancel(ctx)
	agents := &fleet{config: c, target: p.grpc, trust: known, hears: &complaints{}}
	go func() { ended <- agents.run(loading) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	fmt.Fprintf(progress, "warming up for %v\n", c.warmUp)
	if err := program.Sleep(ctx, c.warmUp); err != nil {
		return r, err
	}
	before, err := p.use(ctx, server)
	if err != nil {
		return r, err
	}
	for left := c.duration; left > 0; left -= progressEvery {
		fmt.Fprintf(progress, "measuring for %v more\n", left)
		if err := program.Sleep(ctx, min(left, progressEvery)); err != nil {
			return r, err
		}
	}
	after, err := p.use(ctx, server)
	if err != nil {
		return r, err
	}
	r = results(c, before, after)
	r.complaints, r.complaint = agents.hears.heard()
	return r, nil
}

const progressEvery = 10 * time.Second

// profiler is the process that is measured.
type profiler struct {
	process     *exec.Cmd
	grpc, debug string
}

func startProfiler(ctx context.Context, c config, server *apiServer, dir string) (*profiler, error) {
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := server.kubeconfig(kubeconfig); err != nil {
		return nil, err
	}
	arguments := append([]string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--debug-listen", "127.0.0.1:0", "--lease-namespace", "default"}, c.arguments...)
	if c.days > 0 {
		var err error
		if c.profiler, err = os.Executable(); err != nil {
			return nil, err
		}
		arguments = c.agedArguments(kubeconfig)
	}
	p := &profiler{process: exec.CommandContext(ctx, c.profiler, arguments...)}
	stderr, err := p.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if p.grpc, p.debug = value(line, "grpc"), value(line, "debug"); p.grpc == "" || p.debug == "" {
		p.stop()
		return nil, fmt.Errorf("the profiler began with %q: %w", line, err)
	}
	go func() { _, _ = io.Copy(os.Stderr, lines) }() // ends with the process
	return p, nil
}

// value is what a line of a log has under a key.
func value(line, key string) string {
	_, rest, _ := strings.Cut(line, " "+key+"=")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return text
}

func (p *profiler) stop() {
	_ = p.process.Process.Kill()
	_ = p.process.Wait()
}

// wait waits until a metric has a value.
func (p *profiler) wait(ctx context.Context, metric string, want float64) error {
	for {
		m, err := p.metrics(ctx)
		if err == nil && m[metric] == want {
			return nil
		}
		if err := program.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

func (p *profiler) metrics(ctx context.Context) (endpoint.Metrics, error) {
	return endpoint.Scraper{URL: "http://" + p.debug}.Scrape(ctx)
}

// Windows by what became of them, and those that were taken.
const (
	windows  = "spazio_profiler_windows_total{"
	accepted = windows + `result="accepted"}`
)

// used is what was used at a moment.
type used struct {
	at             time.Time
	server, client time.Duration
	resident, peak float64
	writes, saves  uint64
	metrics        endpoint.Metrics
}

func (p *profiler) use(ctx context.Context, server *apiServer) (u used, err error) {
	pid := p.process.Process.Pid
	if u.metrics, err = p.metrics(ctx); err != nil {
		return u, err
	}
	u.at, u.writes, u.saves = time.Now(), server.writes.Load(), server.saves.Load()
	if u.server, err = process.CPU(pid); err != nil {
		return u, err
	}
	if u.resident, u.peak, err = process.Memory(pid); err != nil {
		return u, err
	}
	u.client, err = process.CPU(os.Getpid())
	return u, err
}

func results(c config, before, after used) result {
	wall := after.at.Sub(before.at)
	rate := func(name string) float64 { return (after.metrics[name] - before.metrics[name]) / wall.Seconds() }
	r := result{
		config: c, seconds: wall.Seconds(), resident: after.resident, peak: after.peak, heap: after.metrics["go_memstats_heap_inuse_bytes"] / (1 << 20),
		stacks: after.metrics["go_memstats_stack_inuse_bytes"] / (1 << 20),
		cores:  (after.server - before.server).Seconds() / wall.Seconds(), ownCores: (after.client - before.client).Seconds() / wall.Seconds(),
		batches: rate(`spazio_profiler_batches_total{result="accepted"}`), windows: rate(accepted),
		writes:    float64(after.writes-before.writes) / wall.Seconds(),
		saves:     float64(after.saves-before.saves) / wall.Seconds(),
		workloads: after.metrics["spazio_profiler_workloads"], pods: after.metrics["spazio_profiler_pods"],
	}
	for name, v := range after.metrics {
		if strings.HasPrefix(name, windows) && name != accepted {
			r.refused += v
		}
	}
	return r
}
