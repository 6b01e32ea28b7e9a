package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

func main() {
	if filepath.Base(os.Args[0]) == etcdName { // scheduler_perf looks for it on PATH
		serveEtcd()
		return
	}
	var c comparison
	bench.Main(bench.Command("scheduler", "Measure what the plugin costs a scheduler", c.flags, c.validate, c.measure),
		map[string]children.Role{roleRun: measure, roleAgents: publishReports, roleBallast: burn})
}

// comparison has runs with the plugin and without it, pair by pair.
type comparison struct {
	workload     workload
	pairs, least int
	width        float64
	on, off      []result
}

func (c *comparison) flags(f *pflag.FlagSet) {
	f.IntVar(&c.workload.Nodes, "nodes", 1000, "nodes")
	f.IntVar(&c.workload.Pods, "pods", 2000, "measured pods")
	f.IntVar(&c.pairs, "pairs", 40, "pairs of runs at most")
	f.IntVar(&c.least, "least", 5, "pairs of runs at least")
	f.Float64Var(&c.width, "width", .03, "end when the interval of the throughput's ratio is no wider to either side")
}

func (c *comparison) validate(args []string) error {
	switch {
	case c.workload.Pods < 2:
		return fmt.Errorf("--pods: %d is less than 2, from the first of which to the last is timed", c.workload.Pods)
	case c.pairs < 2:
		return fmt.Errorf("--pairs: %d is less than 2, which an interval needs", c.pairs)
	case !(c.width >= 0):
		return fmt.Errorf("--width: %v is not at least 0", c.width)
	}
	return bench.Positive(args, map[string]int{"nodes": c.workload.Nodes})
}

// measure has a run with the plugin and one without, in an order that changes from pair to pair; the
// first begins with the plugin, to learn what the agents take.
func (c *comparison) measure(ctx context.Context, r *bench.Result, g *children.Group, progress io.Writer) error {
	defer func() { c.report(r) }()
	beside := 0.
	for i := range c.pairs {
		for _, plugin := range []bool{i%2 == 0, i%2 == 1} {
			one, err := run(ctx, g, order{Workload: c.workload, Plugin: plugin, Ballast: beside})
			if err != nil {
				return fmt.Errorf("pair %d, plugin %v: %w", i+1, plugin, err)
			}
			if plugin {
				beside = one.Beside
				c.on = append(c.on, one)
			} else {
				c.off = append(c.off, one)
			}
			fmt.Fprintf(progress, "pair %d, plugin %v: %.1f pods/s; CPU/pod in ms: process %.2f, scheduler %.2f, without server %.2f; cores: server %.3f, beside %.3f\n",
				i+1, plugin, one.throughput(), one.processCPU(), one.schedulerCPU(), one.cycleCPU(), one.Server/one.Seconds, one.Beside)
		}
		if i+1 < max(c.least, 2) {
			continue
		}
		if e, err := experiment.PairedRatio(values(c.on, result.throughput), values(c.off, result.throughput)); err != nil || e.High/e.Mean-1 <= c.width {
			return err
		}
	}
	return nil
}

func values(all []result, of func(result) float64) (v []float64) {
	for _, r := range all {
		v = append(v, of(r))
	}
	return v
}

// report adds what was found: of each quantity the medians and, as far as there are pairs, the ratio with
// the plugin over without.
func (c *comparison) report(r *bench.Result) {
	for _, q := range []struct {
		what, unit string
		of         func(result) float64
	}{
		{"throughput", "pods/s", result.throughput},
		{"CPU/pod, process", "ms", result.processCPU},
		{"CPU/pod, scheduler", "ms", result.schedulerCPU},
		{"the same without the server", "ms", result.cycleCPU},
	} {
		on, off := values(c.on, q.of), values(c.off, q.of)
		if e, err := experiment.PairedRatio(on, off); err == nil {
			r.Add(
				bench.Row{What: q.what + ", with the plugin over without", Value: e.Mean, Unit: "ratio", Interval: []float64{e.Low, e.High}},
				bench.Row{What: q.what + ", with", Value: bench.Median(on), Unit: q.unit, Of: on},
				bench.Row{What: q.what + ", without", Value: bench.Median(off), Unit: q.unit, Of: off},
			)
		}
	}
}
