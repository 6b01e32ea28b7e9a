// Nodeagent embeds Spazio's agent in a node agent of one's own: it measures the
// Linux machine it runs on and prints a few times how many pods still fit, and why.
//
// Without kubelet there are no pods to be seen; with it, telemetry.NewCgroupPods
// prints them. Config.Schedulers would have the reports sent.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, 3); err != nil {
		fmt.Fprintln(os.Stderr, "nodeagent:", err)
		os.Exit(1)
	}
}

// run prints so many reports and the reasons of the last.
func run(ctx context.Context, w io.Writer, reports int) (err error) {
	meter, err := telemetry.NewReader(telemetry.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, meter.Close()) }()
	made := make(chan agent.Report, reports)
	a, err := node.New(node.Config{
		Name: "here", Meter: meter, Pods: telemetry.StaticPods(nil),
		OnReport: func(r agent.Report) {
			select {
			case made <- r:
			default: // it must not wait
			}
		},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended)
	}()
	for range reports {
		select {
		case <-ctx.Done():
			return nil
		case r := <-made:
			fmt.Fprintf(w, "report %d: room for %.1f pods\n", r.Sequence, r.Avail)
		}
	}
	why, err := a.Why(ctx)
	if err == nil {
		fmt.Fprintln(w, node.Explain(why))
	}
	return err
}
