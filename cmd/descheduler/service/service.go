package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/cmd/descheduler/app/options"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
)

// ErrInvalid is what a *field.Error of this package wraps.
var ErrInvalid = errors.New("invalid configuration")

// DefaultCycle is the default of Config.Cycle.
const DefaultCycle = 10 * time.Second

// Config of a Descheduler.
type Config struct {
	// Kubeconfig leads to the API server; empty means the pod's own account.
	Kubeconfig string
	// PolicyFile is the file of the DeschedulerPolicy; empty means a policy with SpazioRelief alone, at
	// its defaults, that leaves pods with persistent volumes where they are.
	PolicyFile string
	// Cycle is the time between two looks at the nodes; default DefaultCycle. It is at most the
	// plugin's interval.
	Cycle time.Duration
	// DryRun logs what would be evicted, and evicts nothing.
	DryRun bool
	// Args are the scheduler's, by which nodes have room and pods demands, and where and how agents
	// report to the descheduler.
	Args plugin.SpazioArgs
}

// Validate returns a *field.Error, or nil.
func (c Config) Validate() error {
	if c.Cycle < 0 {
		return &field.Error{Package: "descheduler", Field: "Cycle", Value: c.Cycle, Err: fmt.Errorf("%w: must be at least 0", ErrInvalid)}
	}
	return c.Args.Validate()
}

// Descheduler is a descheduler with the plugin SpazioRelief. One can run at a time in a process. It logs
// through klog as the process has set it up. Hub may be called at any time, Run once.
type Descheduler struct {
	config Config
	rest   *rest.Config
	hub    *plugin.Hub
	// recorder is nil in a dry run.
	recorder events.EventRecorder

	mu sync.Mutex
	// factory is the descheduler's that the Hub follows, nil before the Hub was started.
	factory informers.SharedInformerFactory
}

// New returns a descheduler that does nothing before Run. A configuration that is refused is a
// *field.Error.
func New(c Config) (*Descheduler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Cycle = cmp.Or(c.Cycle, DefaultCycle)
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	// The scheduler that leads marks pods and records events about agents.
	hub := plugin.NewHub(plugin.HubOptions{Leading: func() bool { return false }})
	return &Descheduler{config: c, rest: config, hub: hub}, nil
}

// Hub returns what agents report to. Its address is nil until the descheduler is ready to run.
func (d *Descheduler) Hub() *plugin.Hub { return d.hub }

// Run looks at the nodes until ctx ends, which is no error, or the descheduler cannot start. All that it
// started has ended when it returns.
func (d *Descheduler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer d.wait(cancel)
	client, err := kubernetes.NewForConfig(d.rest)
	if err != nil {
		return fmt.Errorf("descheduler: client: %w", err)
	}
	if !d.config.DryRun {
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
		if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			return fmt.Errorf("descheduler: record events: %w", err)
		}
		defer broadcaster.Shutdown()
		d.recorder = broadcaster.NewRecorder(scheme.Scheme, "spazio-descheduler")
	}
	server, err := options.NewDeschedulerServer()
	if err != nil {
		return fmt.Errorf("descheduler: %w", err)
	}
	if server.PolicyConfigFile = d.config.PolicyFile; server.PolicyConfigFile == "" {
		if server.PolicyConfigFile, err = writePolicy(); err != nil {
			return err
		}
		defer os.Remove(server.PolicyConfigFile)
	}
	server.ClientConnection.Kubeconfig = d.config.Kubeconfig
	server.DryRun, server.DeschedulingInterval = d.config.DryRun, d.config.Cycle
	server.DefaultFeatureGates = features.DefaultMutableFeatureGate
	if d.config.DryRun { // upstream's own measure: evictions are simulated on a copy of all objects
		watch.DefaultChanSize = 100_000
	}
	d.register()
	policy, err := descheduler.LoadPolicyConfig(server.PolicyConfigFile, client, pluginregistry.PluginRegistry)
	if err == nil {
		err = validatePolicy(policy)
	}
	if err == nil {
		err = descheduler.Run(ctx, server)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil: // as where the API server has no evictions
		err = errEnded
	}
	return fmt.Errorf("descheduler: %w", err)
}

var errEnded = errors.New("ended by itself: does the API server have evictions?")

// register makes the plugin known to the descheduler, beside upstream's.
func (d *Descheduler) register() {
	descheduler.SetupPlugins()
	pluginregistry.Register(ReliefPlugin, d.newRelief, &reliever{}, &reliefArgs{}, validate, nil, pluginregistry.PluginRegistry)
}

// wait ends what Run started.
func (d *Descheduler) wait(cancel context.CancelFunc) {
	cancel()
	d.hub.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.factory != nil {
		d.factory.Shutdown()
	}
}

// newRelief makes the plugin. In a dry run the descheduler calls it a second time, with a handle on its
// copy of all objects: the Hub stays with the cluster's own.
func (d *Descheduler) newRelief(ctx context.Context, object runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
	p, err := newReliever(d, object, handle)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.factory == nil {
		if err := d.hub.Start(ctx, d.config.Args, observed{handle, d.rest}); err != nil {
			return nil, err
		}
		d.factory = handle.SharedInformerFactory()
	}
	return p, nil
}

// observed is the cluster as the Hub reaches it.
type observed struct {
	frameworktypes.Handle
	config *rest.Config
}

// KubeConfig implements plugin.Cluster.
func (o observed) KubeConfig() *rest.Config { return o.config }
