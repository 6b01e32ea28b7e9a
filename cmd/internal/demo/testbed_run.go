package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/profiler"
	"github.com/spazio-scheduler/spazio/sim/report/text"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// runTestbed runs the experiment from start to end. Whatever happens, it leaves no process, no port
// and no file behind. It returns the context's cause if that ended before the result was
// there, and the error of an invalid configuration before anything runs. A process can run one at a time.
func runTestbed(ctx context.Context, c testbedConfig) error {
	if err := c.validate(); err != nil {
		return err
	}
	c = c.withDefaults()
	ctrllog.SetLogger(logr.Discard()) // what matters is shown, or an error
	shown := text.NewScreen(c.Progress)
	defer shown.Release()
	services, running := simnode.NewGroup(ctx, func(err error) { shown.Printf("%v", err) })
	defer services.Stop()
	finished := false
	err := c.run(running, &testbedCluster{screen: shown, services: services}, &finished)
	switch cause := context.Cause(running); {
	case ctx.Err() != nil && finished:
		return nil
	case cause != nil: // of a part that failed, what followed is of no interest
		return cause
	}
	return err
}

func (c testbedConfig) run(ctx context.Context, on *testbedCluster, finished *bool) error {
	jobs := drawJobs(c.Jobs, c.Alone, c.Seed)
	on.plan = &span{jobs: jobs}
	if err := on.start(ctx, c.Seed, c.Jobs, jobs); err != nil {
		return err
	}
	access, err := on.open(ctx)
	if err != nil {
		return err
	}
	p, err := profiler.New(profiler.Config{
		Client: access, Namespace: namespace, Profiling: profiling, Target: target, Greedy: c.Greedy,
		OnTrial: func(t profiler.Trial) {
			on.screen.Printf("%2d of %d: %-8s %5.1f s beside %-8s %5.1f s", t.Done, t.Of, t.Pair.A, t.A, t.Pair.B, t.B)
		},
	})
	if err != nil {
		return err
	}
	if err := p.Profile(ctx, 1); err != nil {
		return err
	}
	result, err := c.plan(ctx, on, p, jobs)
	if err != nil {
		return err
	}
	on.screen.Release()
	if err := c.OnResult(result); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	*finished = true
	if c.Keep {
		on.screen.Printf("the cluster is kept until Ctrl-C, for manifests of your own: %s", on.kubectl)
		<-ctx.Done()
	}
	return nil
}

// plan carries out the plan that was learnt, and compares it with the other pairings.
func (c testbedConfig) plan(ctx context.Context, on *testbedCluster, p *profiler.Profiler, jobs []testbedJob) (testbedResult, error) {
	plan, err := p.Plan(ctx)
	if err != nil {
		return testbedResult{}, err
	}
	matrix, names, err := p.Matrix(ctx)
	if err != nil {
		return testbedResult{}, err
	}
	greedy, err := matrix.Greedy(names)
	if err != nil {
		return testbedResult{}, err
	}
	on.screen.Printf("the plan is carried out")
	outcome, err := p.Schedule(ctx, plan.Pairs)
	if err != nil {
		return testbedResult{}, err
	}
	r := testbedResult{Seed: c.Seed, Jobs: jobs, Matrix: map[string]colocate.Row{}, Plan: pairNames(plan.Pairs), Greedy: pairNames(greedy.Pairs), Runs: runsOf(outcome)}
	for _, name := range names {
		r.Matrix[name] = matrix.Row(name)
	}
	r.Makespan, err = model{params(c.Seed), jobs}.compare(plan.Pairs, greedy.Pairs)
	r.Makespan.Plan, r.Makespan.PlanTold = on.plan.seconds(), outcome.Makespan()
	return r, err
}

// open makes the outside program's client.
func (c *testbedCluster) open(ctx context.Context) (*client.Client, error) {
	address := c.service.ExternalAddr()
	if address == nil {
		return nil, errors.New("the interface is not served")
	}
	url := "http://" + address.String()
	access, err := client.New(client.Config{URL: url, Token: client.StaticToken(c.token)})
	if err != nil {
		return nil, err
	}
	c.screen.Printf("the interface is at %s/external/v1", url)
	c.screen.Printf("its pages, with the program's own token, are at %s/ui/login?next=/ui/?namespace=%s#token=%s", url, namespace, c.token)
	return access, waitReady(ctx, access, profiling, target)
}

// waitReady waits until the Testbeds have their slots.
func waitReady(ctx context.Context, access *client.Client, names ...string) error {
	for _, name := range names {
		for {
			bed, err := access.Testbed(ctx, namespace, name)
			if err != nil {
				return err
			}
			if bed.Ready {
				break
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}
