// Command profileload measures a profiler under the load of a fleet: it runs
// spazio-profiler in a process of its own, with an API server that this program
// stands for, streams what the pods of many nodes take over gRPC on loopback, as
// their agents do, and prints what that costs the profiler.
//
//	go run ./bench/profileload
//	go run ./bench/profileload --tls
//	go run ./bench/profileload --days 1
//
// In a cluster agents speak TLS and show tokens, and each makes a connection a minute; the
// second tells what that costs. The third begins with a profiler that has heard of its pods
// for a day, in each slot of which it knows them: before agents come it takes in, with
// their times, windows of ten minutes. That is the profiler's service in a process of this
// program, for spazio-profiler knows but one clock.
//
// Each node sends by itself what spazio-agent does (publish.Usages): a reading of each pod
// every ten seconds, a window a minute. While the workloads are published for the first
// time, the profiler writes as often as it may, and that is in what is measured.
// CPU time is that of the process by the operating system's account.
package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/sim/report/table"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

func main() { program.Main(command()) }

// gcPercent lets this process's heap grow fivefold before it is collected: it stands
// for thousands of agents, each of which has but its own.
const gcPercent = 400

// config of one measurement.
type config struct {
	profiler               string
	nodes, pods, workloads int
	days                   int
	warmUp, duration       time.Duration
	tls                    bool
	arguments              []string
}

func command() *cobra.Command {
	var c config
	root := &cobra.Command{
		Use:   "profileload",
		Short: "Measure spazio-profiler while the windows of many pods come",
		Args:  program.Valid(func() error { return c.validate() }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			debug.SetGCPercent(gcPercent)
			r, err := measure(cmd.Context(), c, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			r.write(cmd.OutOrStdout())
			return nil
		},
	}
	f := root.Flags()
	f.StringVar(&c.profiler, "profiler", "", "spazio-profiler to run (default built from this tree)")
	c.sizes(f)
	f.DurationVar(&c.warmUp, "warm-up", 90*time.Second, "time before measuring")
	f.DurationVar(&c.duration, "duration", 2*time.Minute, "time measured")
	f.BoolVar(&c.tls, "tls", false, "agents speak TLS and show tokens, as in a cluster")
	f.StringSliceVar(&c.arguments, "argument", nil, "argument of spazio-profiler; repeatable")
	root.AddCommand(agedCommand())
	return root
}

// sizes adds the flags of what is measured.
func (c *config) sizes(f *pflag.FlagSet) {
	f.IntVar(&c.nodes, "nodes", 5000, "nodes")
	f.IntVar(&c.pods, "pods", 150_000, "pods on them")
	f.IntVar(&c.workloads, "workloads", 10_000, "workloads of the pods")
	f.IntVar(&c.days, "days", 0, "days for which the profiler has heard of the pods before")
}

func (c *config) validate() error {
	switch {
	case c.days < 0:
		return fmt.Errorf("--days: %d is negative", c.days)
	case c.days > 0 && (c.tls || c.profiler != "" || len(c.arguments) > 0):
		return errors.New("--days: without --tls, --profiler and --argument alone")
	case c.nodes < 1:
		return fmt.Errorf("--nodes: %d is not positive", c.nodes)
	case c.pods < c.nodes:
		return fmt.Errorf("--pods: %d is less than one a node", c.pods)
	case c.workloads < 1 || c.workloads > c.pods:
		return fmt.Errorf("--workloads: %d is not from 1 to the pods", c.workloads)
	case c.warmUp < 0:
		return fmt.Errorf("--warm-up: %v is negative", c.warmUp)
	case c.duration <= 0:
		return fmt.Errorf("--duration: %v is not positive", c.duration)
	}
	return nil
}

// result is what a run found.
type result struct {
	config                       config
	seconds                      float64
	cores, ownCores              float64
	resident, peak, heap, stacks float64 // MiB
	batches, windows             float64 // a second
	refused                      float64
	writes, saves                float64 // a second, the latter those of checkpoints
	workloads, pods              float64
	complaints                   int    // of agents, from the beginning on
	complaint                    string // the last
}

func (r result) write(w io.Writer) {
	by := "in plaintext"
	if r.config.tls {
		by = "by TLS, with tokens"
	}
	if r.config.days > 0 {
		by += fmt.Sprintf(", after %d days", r.config.days)
	}
	fmt.Fprintf(w, "%d nodes, %d pods, %d workloads for %.0f s, %s\n", r.config.nodes, r.config.pods, r.config.workloads, r.seconds, by)
	fmt.Fprintf(w, "batches           %.0f/s with %.0f windows/s accepted, %.0f others in all\n", r.batches, r.windows, r.refused)
	fmt.Fprintf(w, "writes            %.1f/s, %.1f of them checkpoints\n", r.writes, r.saves)
	profiler := fmt.Sprintf("%.3f cores, %.1f MiB resident, %.1f at most, %.1f MiB of heap and %.1f of stacks in use; %.0f workloads, %.0f pods", r.cores, r.resident, r.peak, r.heap, r.stacks, r.workloads, r.pods)
	fmt.Fprintln(w, text.Hang("profiler          ", profiler, table.Terminal))
	fmt.Fprintf(w, "load generator    %.2f cores\n", r.ownCores)
	if r.complaints > 0 {
		outages := fmt.Sprintf("%d from the beginning on, the last: %s", r.complaints, r.complaint)
		fmt.Fprintln(w, text.Hang("agents' outages   ", outages, table.Terminal))
	}
}
