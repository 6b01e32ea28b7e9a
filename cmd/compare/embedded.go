package compare

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// simulatedQuality is that of the joules where this machine is the cluster.
const simulatedQuality = "simulated counter over real CPU time"

// bench is what outlasts runs: the group of children, and the control plane.
type bench struct {
	config     Config
	cpus       []int
	slices     int  // of this machine that are nodes
	oneHost    bool // the slices are virtual machines of one host, which has the counters of energy
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
func Embedded(ctx context.Context, c Config, say func(format string, args ...any)) (r Report, err error) {
	b, ctx, stop, err := newBench(ctx, c, say)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	nodes := fmt.Sprintf("%d slices of %d CPUs, machines of their own", b.slices, len(b.cpus))
	return b.config.report(ctx, simulatedQuality, nodes, b.say, b.run)
}

// newBench starts the control plane for a configuration. The context ends when that does.
func newBench(ctx context.Context, c Config, say func(string, ...any)) (b *bench, running context.Context, stop func() error, err error) {
	cpus, err := children.CPUs()
	if err != nil {
		return nil, nil, nil, err
	}
	slices := min(2, len(cpus))
	if err := c.validate(slices); err != nil {
		return nil, nil, nil, err
	}
	group, err := children.NewGroup()
	if err != nil {
		return nil, nil, nil, err
	}
	services, running := simnode.NewGroup(ctx, func(err error) { say("%v", err) })
	stop = func() error {
		services.Stop()
		return group.Close()
	}
	b = &bench{config: c, cpus: cpus, slices: slices, group: group, say: say, kubeconfig: filepath.Join(group.Dir(), "kubeconfig")}
	if err := b.startPlane(running, services); err != nil {
		return nil, nil, nil, errors.Join(failure(running, err), stop())
	}
	return b, running, stop, nil
}

func (b *bench) startPlane(ctx context.Context, services *simnode.Group) (err error) {
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
func watch(services *simnode.Group, name string, p *children.Process) {
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
	each := len(b.cpus) / b.slices
	rest := len(b.cpus) % b.slices
	if i == 0 {
		return b.cpus[:each+rest]
	}
	from := rest + i*each
	return b.cpus[from : from+each]
}
