package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// testbeds measures spazio-testbed and spazio-scheduler on an embedded control plane.
type testbeds struct {
	nodes, slots       int // the latter on each node
	jobs, perRound     int
	rounds, competing  int
	pods, pairs        int
	testbed, scheduler string
}

func (b *testbeds) flags(f *pflag.FlagSet) {
	f.IntVar(&b.nodes, "nodes", 1250, "nodes")
	f.IntVar(&b.slots, "slots", 4, "slots on each")
	f.IntVar(&b.jobs, "jobs", 500, "jobs that are there")
	f.IntVar(&b.perRound, "jobs-per-scheduling", 10, "jobs of a scheduling")
	f.IntVar(&b.competing, "competing", 4, "schedulings that are made at once")
	f.IntVar(&b.rounds, "rounds", 25, "times that they are")
	f.IntVar(&b.pods, "pods", 4000, "pods of a measured batch: it should last for many of the programs' collections of garbage")
	f.IntVar(&b.pairs, "pairs", 3, "pairs of batches")
	f.StringVar(&b.testbed, "testbed", "", "spazio-testbed to run (default built from this tree)")
	f.StringVar(&b.scheduler, "scheduler", "", "spazio-scheduler to run (default built from this tree)")
}

func (b *testbeds) validate(args []string) error {
	total := b.nodes * b.slots
	err := bench.Positive(args, map[string]int{
		"nodes": b.nodes, "slots": b.slots, "jobs-per-scheduling": b.perRound, "competing": b.competing, "rounds": b.rounds, "pods": b.pods, "pairs": b.pairs,
	})
	switch {
	case err != nil:
	case b.nodes > 2000 || total > 5000:
		err = fmt.Errorf("--nodes, --slots: a test bed has at most 2000 nodes and 5000 slots, not %d and %d", b.nodes, total)
	case b.jobs < b.perRound*b.competing:
		err = fmt.Errorf("--jobs: %d are fewer than the schedulings want", b.jobs)
	case total < max(b.perRound*b.competing, b.pods):
		err = fmt.Errorf("--slots: %d in all are fewer than the schedulings or the pods want", total)
	}
	return err
}

// schedulerConfig has the default profile, and that of slots.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}
profiles:
- schedulerName: default-scheduler
- schedulerName: spazio-slots
  percentageOfNodesToScore: 100
  plugins:
    multiPoint:
      enabled: [{name: Spazio}, {name: SpazioSlots}]
      disabled: [{name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}, {name: DefaultPreemption}, {name: DefaultBinder}]
    preScore: {disabled: [{name: "*"}]}
    score: {enabled: [{name: SpazioSlots}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: Spazio
    args: {listen: "127.0.0.1:0"}
`

func (b *testbeds) measure(ctx context.Context, r *bench.Result, g *children.Group, progress io.Writer) (err error) {
	debug.SetGCPercent(gcPercent)
	c := &cluster{testbeds: b, group: g, progress: progress}
	fmt.Fprintln(progress, "starting the control plane")
	if c.plane, err = embedded.Start(ctx, embedded.Config{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.plane.Close()) }()
	if err := c.connect(ctx); err != nil {
		return err
	}
	path := filepath.Join(g.Dir(), "scheduler.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, schedulerConfig, c.kubeconfig("spazio-scheduler")), 0o600); err != nil {
		return err
	}
	if _, err := c.run(ctx, "spazio-scheduler", b.scheduler, "--config="+path, "--secure-port=0", "--debug-listen="); err != nil {
		return err
	}
	var s samples
	defer func() { s.report(r) }()
	for pair := range b.pairs {
		fmt.Fprintf(progress, "pair %d of %d\n", pair+1, b.pairs)
		if err := c.pair(ctx, pair == 0, &s); err != nil {
			return err
		}
	}
	return nil
}

// samples are what the pairs gave.
type samples struct {
	placeholders, acquired []float64 // s
	resident               []float64 // MiB of spazio-testbed after jobs were taken and given back
	slots, plain           []float64 // pods a second
}

// report adds the figures of what is complete so far. The bars are for a machine of two cores that does
// nothing else.
func (s *samples) report(r *bench.Result) {
	add := func(what, unit string, q float64, of []float64, bar *bench.Bar) {
		if len(of) > 0 {
			r.Add(bench.Row{What: what, Unit: unit, Value: bench.Quantile(of, q), Bar: bar, Of: slices.Sorted(slices.Values(of))})
		}
	}
	add("a scheduling's jobs have what runs them, median", "s", .5, s.acquired, bench.AtMost(.1))
	add("the same, 99 %", "s", .99, s.acquired, bench.AtMost(.25))
	add("spazio-testbed resident", "MiB", 1, s.resident, bench.AtMost(200))
	add("all placeholder pods bound, worst", "s", 1, s.placeholders, bench.AtMost(60))
	var ratios []float64
	for i := range min(len(s.slots), len(s.plain)) {
		ratios = append(ratios, s.slots[i]/s.plain[i])
	}
	add("pods into slots, of the default profile's, median", "ratio", .5, ratios, bench.AtLeast(.8))
}

// pair is one round of everything; what needs but one is measured in the first.
func (c *cluster) pair(ctx context.Context, first bool, s *samples) error {
	if err := c.withOperator(ctx, first, s); err != nil {
		return err
	}
	// What comes next puts pods into slots itself, and removes the placeholder pods: spazio-testbed has ended.
	rate, err := c.intoSlots(ctx)
	if err != nil {
		return err
	}
	s.slots = append(s.slots, rate)
	if err := c.clear(ctx); err != nil {
		return err
	}
	if rate, err = c.submit(ctx, plainPod); err != nil {
		return err
	}
	s.plain = append(s.plain, rate)
	return c.clear(ctx)
}

// withOperator measures while spazio-testbed keeps a placeholder pod in each slot.
func (c *cluster) withOperator(ctx context.Context, first bool, s *samples) (err error) {
	// Without interfaces and without a signal.
	operator, err := c.run(ctx, "spazio-testbed", c.testbed, "--kubeconfig="+c.kubeconfig("spazio-testbed"),
		"--leader-elect=false", "--metrics-listen=", "--placeholder-image=pause")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, operator.Stop(ctx)) }()
	seconds, err := c.bindPlaceholders(ctx)
	if err != nil {
		return err
	}
	if s.placeholders = append(s.placeholders, seconds); !first {
		return nil
	}
	uids, err := c.makeJobs(ctx)
	if err != nil {
		return err
	}
	for round := range c.rounds {
		found, err := c.compete(ctx, round, uids)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.progress, "round %d of %d: jobs have what runs them within %.3g s\n", round+1, c.rounds, slices.Max(found))
		s.acquired = append(s.acquired, found...)
	}
	used, err := bench.Follow(ctx, 0, operator.PID())
	if err != nil {
		return err
	}
	s.resident = append(s.resident, used[0].MaxMiB)
	return c.removeAll(ctx, &v1alpha1.BatchJob{}, &v1alpha1.BatchJobList{})
}
