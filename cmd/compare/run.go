package compare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// trial is a run under way.
type trial struct {
	*bench
	turn turn
	site *site
	app  *app
}

// run makes a run from start to end. Nothing of it is left but the control plane.
func (b *bench) run(ctx context.Context, t turn) (r runResult, err error) {
	services, running := simnode.NewGroup(ctx, func(err error) { b.say("%v", err) })
	defer services.Stop()
	running, fail := context.WithCancelCause(running)
	defer fail(nil)
	tr := &trial{bench: b, turn: t, app: newApp(b.client, b.config.Schedulers[t.scheduler])}
	err = tr.prepare(running, services, fail)
	if errors.Is(err, errPlacing) && context.Cause(running) == nil {
		return runResult{Void: err.Error()}, tr.app.remove(running)
	}
	if err == nil {
		r, err = tr.measure(running)
	}
	if err == nil {
		err = tr.app.remove(running)
	}
	return r, failure(running, err)
}

// prepare brings up all that is measured.
func (t *trial) prepare(ctx context.Context, services *simnode.Group, fail func(error)) (err error) {
	if t.site, err = t.newSite(ctx, services, true); err != nil {
		return err
	}
	if err := t.site.startNodes(ctx, t.app.processChanged, t.app.observe, fail); err != nil {
		return err
	}
	if err := t.startScheduler(ctx); err != nil {
		return err
	}
	return t.place(ctx)
}

// place makes the application's pods and waits until all run.
func (t *trial) place(ctx context.Context) error {
	all := replicas(t.config.Replicas)
	for _, r := range all {
		if err := t.app.create(ctx, r); err != nil {
			return err
		}
	}
	waiting, cancel := context.WithTimeout(ctx, placing)
	defer cancel()
	return t.app.await(waiting, len(all))
}

// startScheduler starts the scheduler and, if it wants them, the agents.
func (t *trial) startScheduler(ctx context.Context) error {
	scheduler, err := t.site.start(roleScheduler, 0, t.kubeconfig, t.app.scheduler, fmt.Sprint(len(t.site.slices)))
	if err != nil {
		return err
	}
	address, err := ready(ctx, scheduler, roleScheduler)
	if err != nil {
		return err
	}
	if address != noAgents {
		if err := t.startAgents(ctx, address, true); err != nil {
			return err
		}
	}
	_, err = ready(ctx, scheduler, roleScheduler)
	return err
}

// startAgents starts one for each slice, with energy or without.
func (t *trial) startAgents(ctx context.Context, scheduler string, energy bool) error {
	shared, err := t.site.share(ctx)
	if err != nil {
		return err
	}
	for i, name := range t.site.slices {
		tree := ""
		if shared != "" {
			tree = filepath.Join(shared, name)
		}
		if _, err := t.site.start(roleAgent, i, agentArgs(filepath.Join(t.site.dir, name), name, scheduler, tree, energy)...); err != nil {
			return err
		}
	}
	return nil
}

// measure puts the load on and takes what all took meanwhile.
func (t *trial) measure(ctx context.Context) (r runResult, err error) {
	if t.config.WarmUp > 0 {
		if _, err := t.load(ctx, t.config.WarmUp, func() error { return nil }); err != nil {
			return r, err
		}
	}
	began, end := state{}, state{}
	pods := map[string]float64{}
	result, err := t.load(ctx, t.config.Duration, func() (err error) {
		if began, err = t.site.state(ctx); err != nil {
			return err
		}
		if pods, err = t.config.hold(ctx, began.at, t.turn.pair, t.site.pods, t.app.kill); err != nil {
			return err
		}
		end, err = t.site.state(ctx)
		return err
	})
	if err != nil {
		return r, err
	}
	took := t.site.between(began, end)
	bound, mean := t.app.bindings()
	r = runResult{
		Seconds: took.seconds, Joules: took.joules, Overhead: took.overhead, CPU: took.cpu,
		Bind: mean.Seconds(), Bound: bound, Pods: pods,
	}
	t.config.answered(&r, result)
	return r, nil
}

// load sends requests for a while from a process of its own and has meanwhile done, from
// when the first is due.
func (t *trial) load(ctx context.Context, length time.Duration, meanwhile func() error) (r social.LoadResult, err error) {
	p, err := t.group.Start(children.Spec{Role: roleLoad})
	if err != nil {
		return r, err
	}
	defer func() {
		p.Kill()
		<-p.Done()
	}()
	if err := t.site.join(roleLoad, onNone, p, 0); err != nil {
		return r, err
	}
	address, err := ready(ctx, p, roleLoad)
	if err != nil {
		return r, err
	}
	return social.SendLoad(ctx, http.DefaultClient, "http://"+address+social.LoadPath, t.config.loadOn(t.app.front(), length), meanwhile)
}
