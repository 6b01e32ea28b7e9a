package compare

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/sim/report/schedulers"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/parts"
)

// simulatedQuality is that of the joules where this machine is the cluster.
const simulatedQuality = "simulated counter over real CPU time"

// bench is what outlasts runs: the group of children, and the control plane.
type bench struct {
	config     Config
	cpus       []int
	group      *children.Group
	plane      *children.Process
	kubeconfig string
	rest       *rest.Config
	client     kubernetes.Interface
	say        func(format string, args ...any)
	runs       int
}

// Embedded compares schedulers on slices of this machine, with a control plane of its own.
// It reports its progress. Whatever happens, nothing is left behind; where runs are
// void the report is returned with an error that wraps ErrVoid if no pair counts.
func Embedded(ctx context.Context, c Config, say func(format string, args ...any)) (r schedulers.Report, err error) {
	err = Repeated(ctx, c, 1, say, func(made schedulers.Report, err error) error {
		r = made
		return err
	})
	return r, err
}

// Repeated is as many comparisons as Embedded makes, on one control plane, with one seed
// after the other. Each is given to done as Embedded returns it; an error of done ends them.
func Repeated(ctx context.Context, c Config, times int, say func(format string, args ...any), done func(schedulers.Report, error) error) (err error) {
	if times < 1 || times > mostRuns {
		return refuse("times", times, fmt.Sprintf("1 to %d", mostRuns))
	}
	b, ctx, stop, err := newBench(ctx, c, say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for i := range times {
		if times > 1 {
			say("comparison %d of %d, seed %d", i+1, times, b.config.Seed)
		}
		r, err := b.compare(ctx)
		if err != nil && !errors.Is(err, ErrVoid) {
			return err
		}
		if err := done(r, err); err != nil {
			return err
		}
		b.config.Seed++
	}
	return nil
}

// compare makes all runs.
func (b *bench) compare(ctx context.Context) (schedulers.Report, error) {
	nodes := fmt.Sprintf("%d slices of %d CPUs, %s", b.config.Slices, len(b.cpus), map[topology]string{
		separate: "machines of their own", oneHost: "virtual machines of one host",
	}[b.config.Topology])
	return b.config.report(ctx, simulatedQuality, nodes, b.say, b.run)
}

// newBench starts the control plane for a configuration. The context ends when that does.
func newBench(ctx context.Context, c Config, say func(string, ...any)) (b *bench, running context.Context, stop func() error, err error) {
	cpus, err := children.CPUs()
	if err != nil {
		return nil, nil, nil, err
	}
	c = c.Sliced(len(cpus))
	if err := c.Validate(len(cpus)); err != nil {
		return nil, nil, nil, err
	}
	group, err := children.NewGroup()
	if err != nil {
		return nil, nil, nil, err
	}
	services, running := parts.New(ctx, func(err error) { say("%v", err) })
	stop = func() error {
		services.Stop()
		return group.Close()
	}
	b = &bench{config: c, cpus: cpus, group: group, say: say, kubeconfig: filepath.Join(group.Dir(), "kubeconfig")}
	if err := b.startPlane(running, services); err != nil {
		return nil, nil, nil, errors.Join(failure(running, err), stop())
	}
	return b, running, stop, nil
}

func (b *bench) startPlane(ctx context.Context, services *parts.Group) (err error) {
	b.say("starting the control plane")
	if b.plane, err = b.group.Start(children.Spec{Role: roleControlPlane, Args: []string{b.kubeconfig}, CPUs: b.slice(0)}); err != nil {
		return err
	}
	watch(services, "control plane", b.plane)
	if _, err := ready(ctx, b.plane, "control plane"); err != nil {
		return err
	}
	if b.rest, err = clientcmd.BuildConfigFromFlags("", b.kubeconfig); err != nil {
		return err
	}
	b.rest.QPS = -1
	b.client, err = kubernetes.NewForConfig(b.rest)
	return err
}

// watch has a child be a part: it fails with the child, and stops it.
func watch(services *parts.Group, name string, p *children.Process) {
	services.Start(name, func(ctx context.Context) error {
		select {
		case <-p.Done():
			return p.Err()
		case <-ctx.Done():
			p.Kill()
			<-p.Done()
			return nil
		}
	})
}

// failure is why a part failed, where that ended ctx, rather than what followed from it.
func failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// slice are the CPUs of a slice. The first slice has those that remain.
func (b *bench) slice(i int) []int {
	each := len(b.cpus) / b.config.Slices
	rest := len(b.cpus) % b.config.Slices
	if i == 0 {
		return b.cpus[:each+rest]
	}
	from := rest + i*each
	return b.cpus[from : from+each]
}
