package simnode

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/field"
)

// Config describes the nodes and the cluster that they join. A zero field takes its default;
// Cluster or Client is required. Start keeps no reference to its slices and maps.
type Config struct {
	// Cluster is the API server that the nodes join, with the credential they
	// use. Its rate limit is for one client and is lifted here.
	Cluster *rest.Config
	// Client, if set, takes Cluster's place: a fake, for instance.
	Client kubernetes.Interface

	// Nodes is how many simulated nodes join; default 1, or 0 if there are
	// Machines.
	Nodes int
	// Prefix begins the simulated nodes' names, their number ends them; default
	// "node-".
	Prefix string
	// Labels are those of each simulated node.
	Labels map[string]string
	// Params is what each simulated node is like. Its Seed selects the random
	// streams of all nodes, each of them its own, and the start-up latencies of
	// pods that declare none.
	Params Params
	// Machines join as well: parts of this machine (package slice), or nodes of the
	// caller's own making. They use the same Clock.
	Machines []Machine
	// Clock is the nodes' time; default the wall clock.
	Clock Clock

	// Observer, if set, is called for each phase of a pod, in order for one pod, after
	// the API server has been updated. Calls come from several goroutines, never after
	// Close has returned, and must not call Close.
	Observer func(Event)
	// OnError, if set, receives the errors of pods that could not be run or updated. It
	// is called as Observer is.
	OnError func(error)
}

// maxNodes is more than one process can simulate.
const maxNodes = 100_000

// validate returns a *field.Error for the first field out of its range.
func (c Config) validate() error {
	switch {
	case c.Cluster == nil && c.Client == nil:
		return refuse(errInvalid, "Cluster", "nil", "set, or Client")
	case c.Nodes < 0 || c.Nodes > maxNodes:
		return refuse(errInvalid, "Nodes", c.Nodes, fmt.Sprintf("0 (default) to %d", maxNodes))
	}
	if err := c.Params.Validate(); err != nil {
		return &field.Error{Package: "simnode", Field: "Params", Value: fmt.Sprintf("%+v", c.Params), Err: fmt.Errorf("%w: %w", errInvalid, err)}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Nodes == 0 && len(c.Machines) == 0 {
		c.Nodes = 1
	}
	if c.Prefix == "" {
		c.Prefix = "node-"
	}
	if c.Observer == nil {
		c.Observer = func(Event) {}
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	return c
}

// Fleet is a number of nodes that have joined a cluster. It is safe for
// concurrent use.
type Fleet struct {
	client kubernetes.Interface
	http   *http.Client // nil where the caller gave a client
	nodes  []*Node
	made   []string // the nodes that were not there before

	stop    context.CancelFunc
	running sync.WaitGroup

	failed   chan struct{} // closed after err is set
	failOnce sync.Once
	err      error

	closeOnce sync.Once
	closeErr  error
}

// Start has nodes join a cluster and runs the pods that are bound to them, until
// Close. It returns when each node is ready and watches for its pods. A ctx that
// ends early abandons the start, nothing more; when Start fails, nothing is left
// behind.
func Start(ctx context.Context, c Config) (*Fleet, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	f := &Fleet{stop: func() {}, failed: make(chan struct{})}
	if err := f.start(ctx, c); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Fleet) start(ctx context.Context, c Config) error {
	machines, err := f.machines(c)
	if err != nil {
		return err
	}
	if err := f.connect(c); err != nil {
		return err
	}
	for _, m := range machines {
		made, err := register(ctx, f.client, m.Spec())
		if made {
			f.made = append(f.made, m.Spec().Name)
		}
		if err != nil {
			return err
		}
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	k := newKubelet(f.client, c, machines)
	synced := make(chan struct{})
	f.running.Go(func() {
		if err := k.run(run, synced); err != nil {
			f.fail(fmt.Errorf("simnode: %w", err))
		}
	})
	select {
	case <-synced:
		return nil
	case <-f.failed:
		return f.err
	case <-ctx.Done():
		return fmt.Errorf("simnode: wait for the watch of pods: %w", context.Cause(ctx))
	}
}

// machines returns all machines, the simulated nodes, which it makes, first.
func (f *Fleet) machines(c Config) ([]Machine, error) {
	width := len(fmt.Sprint(c.Nodes))
	machines := make([]Machine, 0, c.Nodes+len(c.Machines))
	for i := range c.Nodes {
		params := c.Params
		// The factor keeps the seeds of two fleets apart.
		params.Seed = c.Params.Seed*1_000_003 + uint64(i)
		n, err := NewNode(NodeConfig{
			Name: fmt.Sprintf("%s%0*d", c.Prefix, width, i+1), Labels: c.Labels, Params: params, Clock: c.Clock,
		})
		if err != nil {
			return nil, err
		}
		f.nodes = append(f.nodes, n)
		machines = append(machines, n)
	}
	machines = append(machines, c.Machines...)
	names := make(map[string]bool, len(machines))
	for _, m := range machines {
		name := m.Spec().Name
		if name == "" || names[name] {
			return nil, refuse(errInvalid, "Machines", name, "of different names")
		}
		names[name] = true
	}
	return machines, nil
}

func (f *Fleet) connect(c Config) (err error) {
	if f.client = c.Client; f.client != nil {
		return nil
	}
	config := rest.CopyConfig(c.Cluster)
	config.QPS, config.RateLimiter = -1, nil
	if f.http, err = rest.HTTPClientFor(config); err != nil {
		return fmt.Errorf("simnode: make a client: %w", err)
	}
	if f.client, err = kubernetes.NewForConfigAndClient(config, f.http); err != nil {
		return fmt.Errorf("simnode: make a client: %w", err)
	}
	return nil
}

// fail records the first reason for which a node died by itself.
func (f *Fleet) fail(err error) {
	f.failOnce.Do(func() {
		f.err = err
		close(f.failed)
	})
}

// Nodes returns the simulated nodes in the order of their names. Those of
// Config.Machines are not among them.
func (f *Fleet) Nodes() []*Node { return slices.Clone(f.nodes) }

// Failed is closed when a machine ends by itself; Err says why.
func (f *Fleet) Failed() <-chan struct{} { return f.failed }

// Err returns nil until Failed is closed.
func (f *Fleet) Err() error {
	select {
	case <-f.failed:
		return f.err
	default:
		return nil
	}
}

// leaveTime bounds what Close asks of an API server that does not answer.
const leaveTime = 10 * time.Second

// Close ends the pods' work without a word to the API server, as a power cut
// does, waits for the machines, and deletes the nodes that Start made. Further
// calls return the first one's result.
func (f *Fleet) Close() error {
	f.closeOnce.Do(func() {
		f.stop()
		f.running.Wait()
		f.closeErr = f.leave()
		if f.http != nil {
			utilnet.CloseIdleConnectionsFor(f.http.Transport)
		}
	})
	return f.closeErr
}

func (f *Fleet) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	for _, name := range f.made {
		err := f.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("simnode: delete node %s: %w", name, err)
		}
	}
	return nil
}
