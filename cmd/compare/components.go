package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// part is a step of Components: what runs, on slices that are machines of their own or
// guests of a host.
type part struct {
	name                                              string
	plane, agents, energy, scheduler, app, load, burn bool
	oneHost                                           bool
}

// ladder are the parts, each with what is before it; the last, all CPUs busy, is by itself.
var ladder = []part{
	{name: "the counters' generator alone"},
	{name: "control plane", plane: true},
	{name: "agents", plane: true, agents: true},
	{name: "agents' energy", plane: true, agents: true, energy: true},
	{name: "spazio-host-energy", plane: true, agents: true, energy: true, oneHost: true},
	{name: "scheduler", plane: true, agents: true, energy: true, scheduler: true, oneHost: true},
	{name: "application, idle", plane: true, agents: true, energy: true, scheduler: true, app: true, oneHost: true},
	{name: "application under load", plane: true, agents: true, energy: true, scheduler: true, app: true, load: true, oneHost: true},
	{name: "all CPUs busy", burn: true},
}

// EmbeddedComponents measures what each part of a cluster takes, on slices of this machine:
// Runs rounds of Duration each, after WarmUp each, of the last of the Schedulers. The rest
// of the configuration is as Embedded's. Nothing is left behind.
func EmbeddedComponents(ctx context.Context, c Config, say func(format string, args ...any)) (r Components, err error) {
	b, ctx, stop, err := newBench(ctx, c, say)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r = Components{Quality: simulatedQuality}
	for _, p := range ladder {
		r.Parts = append(r.Parts, componentResult{Name: p.name, Alone: p.burn, CPUs: b.burnt(p)})
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
	for i := range b.slices {
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
	err = b.with(ctx, p, func(ctx context.Context, t *trial) error {
		if err := pause(ctx, t.config.WarmUp); err != nil {
			return err
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
		if !p.load {
			return measure()
		}
		_, err := t.load(ctx, t.config.Duration, measure)
		return err
	})
	return took, err
}

// with brings up a part with those before it, of the last of the schedulers, for something to be
// done. Nothing of it is left but the control plane.
func (b *bench) with(ctx context.Context, p part, do func(context.Context, *trial) error) error {
	services, running := simnode.NewGroup(ctx, func(err error) { b.say("%v", err) })
	defer services.Stop()
	running, fail := context.WithCancelCause(running)
	defer fail(nil)
	laid := *b
	laid.oneHost = p.oneHost
	defer func() { b.runs = laid.runs }()
	t := &trial{bench: &laid, app: newApp(b.client, b.config.Schedulers[len(b.config.Schedulers)-1])}
	var err error
	if t.site, err = t.newSite(running, services, p.plane); err == nil {
		err = t.bring(running, p, fail)
	}
	if err == nil {
		err = do(running, t)
	}
	if err == nil && p.app {
		err = t.app.remove(running)
	}
	return failure(running, err)
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
