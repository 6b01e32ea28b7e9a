package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// demoOptions say how a demo shows itself.
type demoOptions struct {
	// Kubeconfig is where to write the cluster's kubeconfig; empty means in the
	// control plane's directory. It is removed at the end.
	Kubeconfig string
	// Keep holds the cluster after the result until the context ends.
	Keep bool
	// Web is the loopback address, host:port, of the page, which is there from the start to the
	// end of the cluster; empty picks one and doesn't tell it. On a terminal it implies Keep: a
	// page is for people.
	Web string
	// Progress is where the run is shown, on a terminal as a live table.
	Progress io.Writer
	// OnResult is given the result when the batches are done.
	OnResult func(demoResult) error
}

// runDemo runs a demo from start to end. Whatever happens, it leaves no process, no
// port and no file behind. It returns command.ErrInterrupted if ctx ended before the
// result was there, and the error of an invalid configuration before anything runs. A process can run one at
// a time.
func runDemo(ctx context.Context, c demoConfig, o demoOptions) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	// A kubeconfig that is there may be a user's only way to a real cluster.
	if _, err := os.Lstat(o.Kubeconfig); o.Kubeconfig != "" && err == nil {
		return fmt.Errorf("kubeconfig %s: %w", o.Kubeconfig, os.ErrExist)
	}
	c = c.withDefaults()
	shown := text.NewScreen(o.Progress)
	defer shown.Release()

	services, running := simnode.NewGroup(ctx, func(err error) { shown.Printf("%v", err) })
	defer services.Stop()
	d := &demo{config: c, options: o, screen: shown, services: services}
	err = d.run(running)
	switch cause := context.Cause(running); {
	case ctx.Err() != nil && d.done:
		return nil
	case ctx.Err() != nil:
		return command.ErrInterrupted
	case cause != nil: // a part failed; what followed from it is of no interest
		return cause
	default:
		return err
	}
}

// demo is a run in progress.
type demo struct {
	config   demoConfig
	options  demoOptions
	screen   *text.Screen
	services *simnode.Group
	cluster  *cluster
	result   demoResult
	done     bool // the result has been given
}

func (d *demo) run(ctx context.Context) (err error) {
	d.screen.Printf("%s", d.config)
	if d.cluster, err = startCluster(ctx, d); err != nil {
		return err
	}
	d.result = demoResult{Config: d.config}
	for _, profile := range d.config.Profiles {
		if err := d.cluster.waitQuiet(ctx); err != nil {
			return err
		}
		if err := d.runBatch(ctx, profile); err != nil {
			return err
		}
	}
	unlike := d.runUnlike(ctx) // if it fails, the first act's result stands
	d.screen.Release()
	if d.screen.Terminal() {
		d.screen.Printf("")
	}
	if err := d.options.OnResult(d.result); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if unlike != nil {
		return unlike
	}
	d.done = true
	switch {
	case d.keeps():
		d.keep(ctx)
	case d.options.Web != "":
		d.screen.Printf("the page ends with the demo, for there is no terminal to end it from; --keep keeps both")
	}
	return nil
}

// keep shows the nodes until ctx ends: there is room for pods of the user's own.
func (d *demo) keep(ctx context.Context) {
	d.screen.Printf("the cluster is kept until Ctrl-C, for manifests of your own: kubectl --kubeconfig %s", d.cluster.kubeconfig)
	if d.options.Web != "" {
		d.screen.Printf("and so is the page: %s/", d.cluster.address)
	}
	start := d.cluster.clock.Now()
	view := newView(d.screen, func() frame {
		return frame{Profile: "kept", Elapsed: d.cluster.clock.Now().Sub(start), Nodes: d.cluster.nodes()}
	})
	defer view.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-view.ticker.C:
			if d.screen.Terminal() {
				view.show()
			}
		}
	}
}

// runBatch submits the batch under a profile, follows it to its end and adds it
// to the result.
func (d *demo) runBatch(ctx context.Context, profile string) error {
	pace := runPace{Profile: profile}
	records, err := d.follow(ctx, newBatchRun(profile, profile, planBatch(d.config)), &pace)
	if err != nil {
		return err
	}
	pace.LeastSojourn = d.config.leastSojourn(records)
	d.result.add(pace, records)
	d.cluster.runs.inconclusive.Store(d.result.inconclusive() != "")
	return nil
}

// follow submits the pods of a run and returns what became of them.
func (d *demo) follow(ctx context.Context, run *batchRun, pace *runPace) ([]podRecord, error) {
	profile := pace.Profile
	d.cluster.batch.Store(run)
	d.cluster.runs.add(profile, run)
	start := d.cluster.clock.Now()
	view := newView(d.screen, func() frame {
		return frame{Profile: profile, Elapsed: d.cluster.clock.Now().Sub(start), podCounts: run.counts(), Nodes: d.cluster.nodes()}
	})
	defer view.stop()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	defer running.Wait()
	lateness := measure(ctx)
	defer lateness.stop()
	running.Go(func() {
		if err := run.submit(ctx, d.cluster.client, d.cluster.clock); err != nil {
			cancel(err)
		}
	})
	for {
		select {
		case <-run.done:
			running.Wait()
			pace.Late, pace.Lag = run.lateness().Seconds(), lateness.stop().Seconds()*d.cluster.clock.Scale()
			view.finish()
			return run.snapshot(), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-view.ticker.C:
			view.show()
		}
	}
}
