package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/schedulers"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/parts"
)

// part is a step of Components: what runs, on slices that are machines of their own or
// guests of a host.
type part struct {
	name                                              string
	plane, agents, energy, scheduler, app, load, burn bool
	topology                                          Topology
}

// ladder are the parts, each with what is before it; the last, all CPUs busy, is by itself.
var ladder = []part{
	{name: "nothing but the counters' generator"},
	{name: "control plane", plane: true},
	{name: "agents", plane: true, agents: true},
	{name: "agents' energy", plane: true, agents: true, energy: true},
	{name: "spazio-power", plane: true, agents: true, energy: true, topology: OneHost},
	{name: "scheduler", plane: true, agents: true, energy: true, scheduler: true, topology: OneHost},
	{name: "application, idle", plane: true, agents: true, energy: true, scheduler: true, app: true, topology: OneHost},
	{name: "application under load", plane: true, agents: true, energy: true, scheduler: true, app: true, load: true, topology: OneHost},
	{name: "all CPUs busy", burn: true},
}

// EmbeddedComponents measures what each part of a cluster takes, on slices of this machine:
// Runs rounds of Duration each, after WarmUp each, of the last of the Schedulers. The rest
// of the configuration is as Embedded's. Nothing is left behind.
func EmbeddedComponents(ctx context.Context, c Config, say func(format string, args ...any)) (r schedulers.Components, err error) {
	b, ctx, stop, err := newBench(ctx, c, say)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r = schedulers.Components{Quality: Quality}
	for _, p := range ladder {
		r.Parts = append(r.Parts, schedulers.Component{Name: p.name, Alone: p.burn, CPUs: b.burnt(p)})
	}
	for round := range b.config.Runs {
		for i, p := range ladder {
			say("round %d of %d: %s", round+1, b.config.Runs, p.name)
			took, err := b.component(ctx, p)
			if err != nil {
				return r, failure(ctx, fmt.Errorf("%s: %w", p.name, err))
			}
			r.Parts[i].Cores = append(r.Parts[i].Cores, took.cores())
			r.Parts[i].Watts = append(r.Parts[i].Watts, took.joules/took.seconds)
		}
	}
	return r, nil
}

// burnt is how many CPUs a part keeps busy.
func (b *bench) burnt(p part) (cpus int) {
	for i := range b.config.Slices {
		if p.burn {
			cpus += len(b.slice(i))
		}
	}
	return cpus
}

// cores is how many were busy with all but the harness itself.
func (t taken) cores() (sum float64) {
	for _, role := range []string{roleControlPlane, roleScheduler, roleAgent, rolePower, roleApp, roleLoad, roleBurn, roleGenerator} {
		sum += t.cpu[role] / t.seconds
	}
	return sum
}

// component brings up a part with those before it and measures all.
func (b *bench) component(ctx context.Context, p part) (took taken, err error) {
	services, running := parts.New(ctx, func(err error) { b.say("%v", err) })
	defer services.Stop()
	running, fail := context.WithCancelCause(running)
	defer fail(nil)
	t, keep := b.trialOf(p)
	defer keep()
	if took, err = t.component(running, services, p, fail); err == nil && p.app {
		err = t.app.remove(running)
	}
	return took, failure(running, err)
}

// trialOf is one of a part's topology. keep has its site count.
func (b *bench) trialOf(p part) (t *trial, keep func()) {
	laid := *b
	laid.config.Topology = p.topology
	t = &trial{bench: &laid, app: newApp(b.client, b.config.Schedulers[len(b.config.Schedulers)-1])}
	return t, func() { b.runs = laid.runs }
}

func (t *trial) component(ctx context.Context, services *parts.Group, p part, fail func(error)) (took taken, err error) {
	if t.site, err = t.newSite(ctx, services, p.plane); err != nil {
		return took, err
	}
	if err := t.bring(ctx, p, fail); err != nil {
		return took, err
	}
	if err := pause(ctx, t.config.WarmUp); err != nil {
		return took, err
	}
	measure := func() error {
		began, err := t.site.state(ctx)
		if err != nil {
			return err
		}
		if err := pause(ctx, t.config.Duration); err != nil {
			return err
		}
		end, err := t.site.state(ctx)
		took = t.site.between(began, end)
		return err
	}
	if p.load {
		_, err = t.load(ctx, t.config.Duration, measure)
		return took, err
	}
	return took, measure()
}

// bring starts what belongs to a part.
func (t *trial) bring(ctx context.Context, p part, fail func(error)) error {
	if p.scheduler {
		if err := t.site.startNodes(ctx, t.app.processChanged, t.app.observe, fail); err != nil {
			return err
		}
		if err := t.startScheduler(ctx); err != nil {
			return err
		}
	} else if p.agents {
		if err := t.startAgents(ctx, "", p.energy); err != nil {
			return err
		}
	}
	if p.app {
		if err := t.place(ctx); err != nil {
			return err
		}
	}
	if p.burn {
		for i := range t.site.slices {
			for range t.slice(i) {
				if _, err := t.site.start(roleBurn, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
