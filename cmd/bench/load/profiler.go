package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// profiler measures one while agents send what their pods take.
type profiler struct {
	path                   string
	nodes, pods, workloads int
	arguments              []string
	timing                 bench.Timing
}

func (p *profiler) flags(f *pflag.FlagSet) {
	f.StringVar(&p.path, "profiler", "", "spazio-profiler to run (default built from this tree)")
	f.IntVar(&p.nodes, "nodes", 5000, "nodes")
	f.IntVar(&p.pods, "pods", 150_000, "pods on them")
	f.IntVar(&p.workloads, "workloads", 10_000, "workloads of the pods")
	f.StringSliceVar(&p.arguments, "argument", nil, "argument of spazio-profiler; repeatable")
	p.timing.Flags(f, 90*time.Second, 2*time.Minute)
}

func (p *profiler) validate(args []string) error {
	err := bench.Positive(args, map[string]int{"nodes": p.nodes, "pods": p.pods, "workloads": p.workloads})
	switch {
	case p.pods < p.nodes:
		err = fmt.Errorf("--pods: %d is less than one a node", p.pods)
	case p.workloads > p.pods:
		err = fmt.Errorf("--workloads: %d are more than the pods", p.workloads)
	}
	return errors.Join(err, p.timing.Validate())
}

// windows are the windows by what became of them, accepted those that were taken.
const (
	windows  = "spazio_profiler_windows_total{"
	accepted = windows + `result="accepted"}`
)

func (p *profiler) measure(ctx context.Context, r *bench.Result, g *children.Group, progress io.Writer) error {
	debug.SetGCPercent(gcPercent)
	kubeconfig := filepath.Join(g.Dir(), "kubeconfig")
	api, err := startAPIServer(p, kubeconfig)
	if err != nil {
		return err
	}
	defer api.stop()
	server, found, err := bench.Start(ctx, g, progress, p.path, "spazio-profiler", `profiler is listening" grpc=(\S+) .*debug=(\S+)`, append([]string{
		"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--debug-listen", "127.0.0.1:0", "--lease-namespace", "default",
	}, p.arguments...)...)
	if err != nil {
		return err
	}
	listed := func(m endpoint.Metrics) bool { return m["spazio_profiler_pods"] == float64(p.pods) }
	if err := bench.Await(ctx, server, found[2], listed); err != nil {
		return err
	}
	var counts []counted
	fmt.Fprintf(progress, "warming up for %v, measuring for %v\n", p.timing.WarmUp, p.timing.Duration)
	used, err := during(ctx, p.timing, func(ctx context.Context) error { return p.agents(ctx, found[1]) }, func() error {
		c, err := api.count(ctx, found[2])
		counts = append(counts, c)
		return err
	}, server.PID(), os.Getpid())
	if err != nil {
		return err
	}
	reportProfiler(r, counts[0], counts[1], used)
	return nil
}

// counted is what was counted until a moment.
type counted struct {
	at            time.Time
	writes, saves uint64
	metrics       endpoint.Metrics
}

func (s *apiServer) count(ctx context.Context, debugAddr string) (c counted, err error) {
	c.metrics, err = bench.Scrape(ctx, debugAddr)
	c.at, c.writes, c.saves = time.Now(), s.writes.Load(), s.saves.Load()
	return c, err
}

func reportProfiler(r *bench.Result, before, after counted, used []bench.Usage) {
	seconds := after.at.Sub(before.at).Seconds()
	rate := func(name string) float64 { return (after.metrics[name] - before.metrics[name]) / seconds }
	mebibytes := func(name string) float64 { return after.metrics[name] / (1 << 20) }
	refused := 0.
	for name, v := range after.metrics {
		if strings.HasPrefix(name, windows) && name != accepted {
			refused += v
		}
	}
	r.Add(
		bench.Row{What: "batches accepted", Value: rate(`spazio_profiler_batches_total{result="accepted"}`), Unit: "1/s"},
		bench.Row{What: "windows accepted", Value: rate(accepted), Unit: "1/s"},
		bench.Row{What: "other windows, in all", Value: refused, Unit: "windows"},
		bench.Row{What: "writes", Value: float64(after.writes-before.writes) / seconds, Unit: "1/s"},
		bench.Row{What: "checkpoints among them", Value: float64(after.saves-before.saves) / seconds, Unit: "1/s"},
		bench.Row{What: "profiler", Value: used[0].Cores, Unit: "cores"},
		bench.Row{What: "profiler resident, most", Value: used[0].MaxMiB, Unit: "MiB"},
		bench.Row{What: "the same since it started", Value: used[0].PeakMiB, Unit: "MiB"},
		bench.Row{What: "its heap in use", Value: mebibytes("go_memstats_heap_inuse_bytes"), Unit: "MiB"},
		bench.Row{What: "its stacks in use", Value: mebibytes("go_memstats_stack_inuse_bytes"), Unit: "MiB"},
		bench.Row{What: "workloads that it knows", Value: after.metrics["spazio_profiler_workloads"], Unit: "workloads"},
		bench.Row{What: "pods that it knows", Value: after.metrics["spazio_profiler_pods"], Unit: "pods"},
		bench.Row{What: "load generator", Value: used[1].Cores, Unit: "cores"},
	)
}

// podUID is that of a pod by its number.
func podUID(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n+1) }

// readEvery is how often an agent reads a pod.
const readEvery = 10 * time.Second

// agents are those of nodes which send what their pods take, as spazio-agent does, until ctx ends.
func (p *profiler) agents(ctx context.Context, target string) error {
	nodes, ctx := errgroup.WithContext(ctx)
	for n := range p.nodes {
		nodes.Go(func() error { return p.agent(ctx, n, target) })
	}
	return nodes.Wait()
}

// agent is a node's: each second it looks which pods are due, and gives what it has read to what
// sends it to the profiler. What is refused, or gets lost, the profiler's metrics say.
func (p *profiler) agent(ctx context.Context, n int, target string) error {
	usages, err := publish.NewUsages(publish.UsagesConfig{
		Node: nodeName(n), Incarnation: uint64(time.Now().UnixNano()), Targets: []string{target}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() { _ = usages.Run(ctx) })
	// Agents don't start in one instant.
	random := rand.New(rand.NewPCG(1, uint64(n)))
	if bench.Sleep(ctx, time.Duration(random.Float64()*float64(readEvery))) != nil {
		return nil
	}
	pods := p.podsOf(n, random)
	ticker := time.NewTicker(readEvery / 10)
	defer ticker.Stop()
	for {
		var at time.Time
		select {
		case <-ctx.Done():
			return nil
		case at = <-ticker.C:
		}
		var readings []agent.PodReading
		for i := range pods {
			if pod := &pods[i]; !at.Before(pod.next) {
				readings = append(readings, pod.read(random))
				pod.next = pod.next.Add(readEvery)
			}
		}
		usages.Take(at, readings)
	}
}

// pod is one as its agent reads it.
type pod struct {
	reading       agent.PodReading
	next          time.Time
	cores, memory float64
}

// podsOf are those of a node: a pod's workload says what it takes.
func (p *profiler) podsOf(n int, random *rand.Rand) (all []pod) {
	for i := n; i < p.pods; i += p.nodes {
		share := float64(i%p.workloads) / float64(p.workloads)
		all = append(all, pod{
			reading: agent.PodReading{Pod: reserve.KeyOf(podUID(i)), Age: time.Minute, Pressure: true},
			next:    time.Now().Add(time.Duration(random.Float64() * float64(readEvery))),
			cores:   .02 + .5*share*(.9+.2*random.Float64()),
			memory:  50e6 + 1e9*share*(.9+.2*random.Float64()),
		})
	}
	return all
}

// read is the pod's next reading.
func (p *pod) read(random *rand.Rand) agent.PodReading {
	r := &p.reading
	if r.CPU > 0 {
		r.Age += readEvery
	}
	r.CPU += time.Duration(p.cores * (.8 + .4*random.Float64()) * float64(readEvery))
	r.Memory = uint64(p.memory * (.95 + .1*random.Float64()))
	r.MemoryPeak = max(r.MemoryPeak, r.Memory)
	return *r
}
