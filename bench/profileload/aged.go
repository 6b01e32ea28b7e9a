package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/cmd/profiler/service"
	stores "github.com/spazio-scheduler/spazio/profile/profiler"
)

// agedPercent is at what share of what stays spazio-profiler collects garbage.
const agedPercent = 15

// agedEvery is the length of windows in the days before: spazio-agent's are a minute, and a
// profiler keeps as much of longer ones.
const agedEvery = 10 * time.Minute

// agedName is the command that --days runs in place of spazio-profiler.
const agedName = "aged"

// agedArguments start it.
func (c *config) agedArguments(kubeconfig string) []string {
	return []string{
		agedName, "--kubeconfig", kubeconfig, "--days", strconv.Itoa(c.days), "--nodes", strconv.Itoa(c.nodes),
		"--pods", strconv.Itoa(c.pods), "--workloads", strconv.Itoa(c.workloads),
	}
}

// agedWindows is how many windows it has taken in before it is measured.
func (c *config) agedWindows() int { return c.pods * c.agedSteps() }
func (c *config) agedSteps() int   { return c.days * int(24*time.Hour/agedEvery) }

// agedCommand is the profiler's service as spazio-profiler runs it, which once it knows the
// pods hears of the days that they ran before, with their times: nobody waits that long.
func agedCommand() *cobra.Command {
	var c config
	var kubeconfig string
	command := &cobra.Command{
		Use: agedName, Short: "Run a profiler that has run for days", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			debug.SetGCPercent(agedPercent)
			s, err := service.New(cmd.Context(), service.Config{
				Listen: "127.0.0.1:0", DebugListen: "127.0.0.1:0", Kubeconfig: kubeconfig, LeaseNamespace: "default",
				Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			})
			if err != nil {
				return err
			}
			both, ctx := errgroup.WithContext(cmd.Context())
			both.Go(func() error { return s.Run(ctx) })
			both.Go(func() error { return c.age(ctx, s.Store()) })
			return both.Wait()
		},
	}
	c.sizes(command.Flags())
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "leads to the API server")
	return command
}

// age tells a store what the agents of the days before would have.
func (c *config) age(ctx context.Context, s *stores.Store) error {
	for s.Stats().Pods < c.pods {
		if program.Sleep(ctx, 100*time.Millisecond) != nil {
			return nil
		}
	}
	f := &fleet{config: *c}
	logs, pods, random := make([]*agent.UsageLog, c.nodes), make([][]pod, c.nodes), make([]*rand.Rand, c.nodes)
	for n := range c.nodes {
		random[n] = rand.New(rand.NewPCG(2, uint64(n)))
		pods[n] = f.pods(n, random[n])
		for i := range pods[n] {
			pods[n][i].reading.Age = agedEvery
		}
		var err error
		// A batch of the days before comes from an agent before the one of today.
		if logs[n], err = agent.NewUsageLog(agent.UsageLogConfig{Node: nodeName(n), Incarnation: 1, Every: agedEvery, Gap: time.Nanosecond}); err != nil {
			return err
		}
	}
	at := time.Now().Add(-time.Duration(c.agedSteps()) * agedEvery)
	var readings []agent.PodReading
	for range c.agedSteps() {
		at = at.Add(agedEvery)
		for n := range c.nodes {
			readings = readings[:0]
			for i := range pods[n] {
				readings = append(readings, pods[n][i].read(agedEvery, random[n]))
			}
			if err := hear(s, logs[n], at, readings); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// hear has a store take in what a node's pods took.
func hear(s *stores.Store, l *agent.UsageLog, at time.Time, readings []agent.PodReading) error {
	l.Take(at, readings)
	for {
		b, ok := l.Batch(at)
		if !ok {
			return nil
		}
		l.Acknowledge(b.Incarnation, b.Sequence)
		if got := s.Windows(at, b); got[stores.Accepted] != len(b.Windows) {
			return fmt.Errorf("of %d windows of %s the profiler takes %d", len(b.Windows), b.Node, got[stores.Accepted])
		}
		at = at.Add(time.Nanosecond)
	}
}
