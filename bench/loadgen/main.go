// Command loadgen measures an aggregator under the load of a fleet: it runs
// spazio-aggregator in a process of its own, pushes models of many nodes over gRPC
// on loopback, and prints what that cost.
//
//	go run ./bench/loadgen --duration 15s --warm-up 3s
//
// A node pushes on its schedule whether or not it was answered, so that a slow
// aggregator shows as latency from when a push was due. CPU time is that of the
// process by the operating system's account; memory, and the time within the
// handler and a tick, are what its metrics say.
//
// A real fleet has one connection a node. Here a number of connections carry
// several nodes each, as one machine has neither the cores nor the sockets for
// thousands of agents; --connections says how many.
package main

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func main() { program.Main(command()) }

// gcPercent lets this process's heap grow fivefold before it is collected. With a
// connection a node it holds hundreds of megabytes of buffers, which would be
// marked all the time and hold up the requests that are timed; each agent of a
// fleet has but its own.
const gcPercent = 400

// config of one measurement.
type config struct {
	aggregator                   string
	nodes, connections, channels int
	rate                         float64
	warmUp, duration             time.Duration
	output                       string
}

func command() *cobra.Command {
	var c config
	root := &cobra.Command{
		Use:   "loadgen",
		Short: "Measure spazio-aggregator while the models of many nodes come",
		Args:  program.Valid(func() error { return c.validate() }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			debug.SetGCPercent(gcPercent)
			r, err := measure(cmd.Context(), c, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return r.write(cmd.OutOrStdout(), c.output)
		},
	}
	f := root.Flags()
	f.StringVar(&c.aggregator, "aggregator", "", "spazio-aggregator to run (default built from this tree)")
	f.IntVar(&c.nodes, "nodes", 5000, "nodes that push")
	f.Float64Var(&c.rate, "rate", 1, "pushes a second of each node, above 0 to 1000")
	f.IntVar(&c.connections, "connections", 50, "connections that the nodes share")
	f.IntVar(&c.channels, "channels", 4, "dimension of the models, 1 to 64")
	f.DurationVar(&c.warmUp, "warm-up", 5*time.Second, "time before measuring")
	f.DurationVar(&c.duration, "duration", 30*time.Second, "time measured")
	f.StringVarP(&c.output, "output", "o", "table", "table or json")
	return root
}

func (c config) validate() error {
	switch {
	case c.nodes < 1:
		return fmt.Errorf("--nodes: %d is not positive", c.nodes)
	case c.connections < 1:
		return fmt.Errorf("--connections: %d is not positive", c.connections)
	case c.channels < 1 || c.channels > 64:
		return fmt.Errorf("--channels: %d is not in 1 to 64", c.channels)
	case !(c.rate > 0 && c.rate <= 1e3):
		return fmt.Errorf("--rate: %v is not above 0 and at most 1000", c.rate)
	case c.warmUp < 0:
		return fmt.Errorf("--warm-up: %v is negative", c.warmUp)
	case c.duration <= 0:
		return fmt.Errorf("--duration: %v is not positive", c.duration)
	case c.output != "table" && c.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", c.output)
	}
	return nil
}
