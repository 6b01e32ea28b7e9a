// Command loadgen measures an aggregator under the load of a fleet: it runs
// one in a process of its own, pushes models of many nodes over gRPC on
// loopback, and prints what that cost.
//
// A real fleet has one connection a node. Here a number of connections carry
// several nodes each, as one machine has neither the cores nor the sockets for
// thousands of agents; -connections says how many.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/internal/aggregatord"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// asServer makes the binary the aggregator that is measured.
const asServer = "SPAZIO_LOADGEN_SERVER"

func main() {
	if os.Getenv(asServer) != "" {
		go func() { // standard input ends with the process that measures
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(serve.ExitFailure)
		}()
		serve.Main(aggregatord.Main)
	}
	serve.Main(run)
}

// gcPercent lets this process's heap grow fivefold before it is collected. With a
// connection a node it holds hundreds of megabytes of buffers, which would be
// marked all the time and hold up the requests that are timed; each agent of a
// fleet has but its own.
const gcPercent = 400

// config of one measurement.
type config struct {
	nodes, connections, channels int
	rate                         float64
	warmUp, duration             time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := config{}
	flags := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.nodes, "nodes", 5000, "nodes that push")
	flags.Float64Var(&c.rate, "rate", 1, "pushes a second of each node")
	flags.IntVar(&c.connections, "connections", 50, "connections that the nodes share")
	flags.IntVar(&c.channels, "channels", 4, "dimension of the models")
	flags.DurationVar(&c.warmUp, "warm-up", 5*time.Second, "time before measuring")
	flags.DurationVar(&c.duration, "duration", 30*time.Second, "time measured")
	if err := flags.Parse(args); err != nil {
		return serve.ExitUsage
	}
	if err := c.validate(flags.Args()); err != nil {
		fmt.Fprintln(stderr, "loadgen:", err)
		return serve.ExitUsage
	}
	debug.SetGCPercent(gcPercent)
	report, err := measure(ctx, c)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(stderr, "loadgen:", err)
		return serve.ExitFailure
	}
	if err == nil {
		fmt.Fprint(stdout, report)
	}
	return serve.ExitOK
}

func (c config) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case c.nodes < 1 || c.connections < 1:
		return fmt.Errorf("-nodes %d and -connections %d must be positive", c.nodes, c.connections)
	case c.channels < 1 || c.channels > 64:
		return fmt.Errorf("-channels %d: 1 to 64", c.channels)
	case !(c.rate > 0 && c.rate <= 1e3):
		return fmt.Errorf("-rate %v: more than 0, at most 1000", c.rate)
	case c.warmUp < 0 || c.duration <= 0:
		return fmt.Errorf("-warm-up %v and -duration %v must be positive", c.warmUp, c.duration)
	}
	return nil
}
