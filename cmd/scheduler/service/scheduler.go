package service

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/component-base/configz"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	schedulerconfig "k8s.io/kubernetes/cmd/kube-scheduler/app/config"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/slots"
)

// errInvalid is what a field.Error wraps.
var errInvalid = errors.New("invalid configuration")

// Config of a Scheduler. It is a plain value.
type Config struct {
	// Kubeconfig is the file that names the API server; required.
	Kubeconfig string
	// Args are the plugin's; the zero value has its defaults.
	Args plugin.SpazioArgs
	// Hub is the plugin's; nil means a new one. A Hub serves one scheduler.
	Hub *plugin.Hub
	// Profiles are what it serves; none means SpazioProfile and DefaultProfile.
	Profiles []Profile
	// Slots are the arguments of the plugin of SlotsProfile, nil for no such profile.
	Slots *config.SpazioSlotsArgs
	// Autoscale shows the cluster's autoscaler what is measured, nil for not. If a Hub is given, its
	// options should have the Controller's BufferOf.
	Autoscale *autoscale.Controller
	// ShortestFirst has all profiles order their pods by the plugin of that name.
	ShortestFirst bool
}

// Profile is one of the profiles of a Scheduler.
type Profile struct {
	// Name is that of pods' schedulerName.
	Name string
	// Upstream makes it kube-scheduler's own, without the plugin.
	Upstream bool
	// EnergyWeight is in the place of that of Config.Args.
	EnergyWeight float64
}

// Scheduler is a kube-scheduler with its profiles, without leader election and without a
// port of its own but the Hub's. It logs through klog as the process has set it up. One can
// run at a time in a process. Hub may be called at any time; New, Run and Close are for one
// goroutine.
type Scheduler struct {
	hub       *plugin.Hub
	autoscale *autoscale.Controller
	slots     *slots.Factory
	config    *schedulerconfig.CompletedConfig
	scheduler *scheduler.Scheduler
	ctx       context.Context
	cancel    context.CancelFunc
}

// New makes a scheduler whose Hub listens for agents already. The caller must Run or Close
// it. Of ctx it takes the values only. A Config without a Kubeconfig is a *field.Error.
func New(ctx context.Context, c Config) (*Scheduler, error) {
	if c.Kubeconfig == "" {
		return nil, &field.Error{Package: "scheduler", Field: "Kubeconfig", Value: c.Kubeconfig, Err: fmt.Errorf("%w: must name a file", errInvalid)}
	}
	s := &Scheduler{hub: c.Hub, autoscale: c.Autoscale, slots: slots.NewFactory(nil)}
	if s.hub == nil {
		// It has no leader election; its process may, for something else.
		o := plugin.HubOptions{Leading: func() bool { return true }}
		if c.Autoscale != nil {
			o.Buffer = c.Autoscale.BufferOf
		}
		s.hub = plugin.NewHub(o)
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.setup(c); err != nil {
		s.Close()
		return nil, fmt.Errorf("scheduler: %w", err)
	}
	return s, nil
}

func (s *Scheduler) setup(c Config) error {
	if err := RegisterArgs(); err != nil {
		return err
	}
	profiles, err := c.profiles()
	if err != nil {
		return err
	}
	// Without a limit on the client's queries: the scheduler has the API server
	// to itself.
	client := Client{Kubeconfig: c.Kubeconfig, QPS: -1}
	path, err := write(configuration(client, false, profiles...))
	if err != nil {
		return err
	}
	defer os.Remove(path)
	upstream := options.NewOptions()
	upstream.ConfigFile = path
	upstream.SecureServing.BindPort = 0
	s.config, s.scheduler, err = app.Setup(s.ctx, upstream, app.WithPlugin(plugin.Name, s.autoscale.Attach(s.hub)),
		app.WithPlugin(plugin.ShortestFirst, s.hub.NewShortestFirst), app.WithPlugin(slots.Name, s.slots.New))
	return err
}

// profiles are those of the configuration.
func (c Config) profiles() (all []configv1.KubeSchedulerProfile, err error) {
	given := c.Profiles
	if len(given) == 0 {
		given = []Profile{{Name: SpazioProfile, EnergyWeight: c.Args.EnergyWeight}, {Name: DefaultProfile, Upstream: true}}
	}
	for _, p := range given {
		profile, args := configv1.KubeSchedulerProfile{}, c.Args
		if args.EnergyWeight = p.EnergyWeight; !p.Upstream {
			if profile, err = spazioProfile(args); err != nil {
				return nil, err
			}
		}
		profile.SchedulerName = new(p.Name)
		all = append(all, profile)
	}
	if c.Slots != nil {
		profile, err := slotsProfile(c.Args, *c.Slots)
		if err != nil {
			return nil, err
		}
		all = append(all, profile)
	}
	if c.ShortestFirst {
		for i := range all {
			sortShortestFirst(&all[i])
		}
	}
	return all, nil
}

// Hub returns the plugin's Hub.
func (s *Scheduler) Hub() *plugin.Hub { return s.hub }

// Run schedules pods until ctx ends, which is no error. The scheduler is closed
// when Run returns.
func (s *Scheduler) Run(ctx context.Context) error {
	defer s.Close()
	defer context.AfterFunc(ctx, s.cancel)()
	// Run registers the configuration under a global name.
	defer configz.Delete("componentconfig")
	err := app.Run(s.ctx, s.config, s.scheduler)
	if s.ctx.Err() != nil {
		return nil // upstream returns an error here, too
	}
	return fmt.Errorf("scheduler: %w", err)
}

// Close ends what New started and waits for it. It may be called more than
// once, but not during Run.
func (s *Scheduler) Close() {
	s.cancel()
	s.hub.Wait()
	if s.autoscale != nil {
		s.autoscale.Wait()
	}
	s.slots.Wait()
	if s.config != nil {
		s.config.InformerFactory.Shutdown()
		s.config.DynInformerFactory.Shutdown()
	}
}
