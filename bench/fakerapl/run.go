package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// trial is a site and the agent that watches it.
type trial struct {
	options
	site  *site
	agent *agent
	next  time.Time // tick
	read  time.Time // of the counters
}

// run holds each load, in runs of a seed each.
func run(ctx context.Context, o options, progress io.Writer) (result, error) {
	books := make([][]*book, len(o.loads))
	var r result
	for i := range o.runs {
		s, of, err := runOnce(ctx, o, o.seed+uint64(i), progress)
		if err != nil {
			return r, err
		}
		r = newResult(o, s)
		for j, b := range of {
			books[j] = append(books[j], b)
		}
	}
	for i, load := range o.loads {
		r.Loads = append(r.Loads, newRow(load, books[i]))
	}
	return r, nil
}

// runOnce returns what came out of each load.
func runOnce(ctx context.Context, o options, seed uint64, progress io.Writer) (s *site, books []*book, err error) {
	s, err = newSite(ctx, o, seed)
	defer func() { err = errors.Join(err, s.stop()) }()
	if err != nil {
		return s, nil, err
	}
	a, err := newAgent(s.powercap(), sockets*s.cores, telemetry.CgroupConfig{Root: s.kubelet.CgroupRoot(), ProcRoot: s.kubelet.ProcRoot()})
	if err != nil {
		return s, nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	t := &trial{options: o, site: s, agent: a, next: s.began}
	fmt.Fprintf(progress, "seed %d: learning for %v\n", seed, o.warmUp)
	if err := t.learn(ctx); err != nil {
		return s, nil, err
	}
	for _, load := range o.loads {
		fmt.Fprintf(progress, "%d %% for %v\n", load, time.Duration(o.intervals)*o.interval)
		b, err := t.hold(ctx, load)
		if err != nil {
			return s, nil, fmt.Errorf("%d %%: %w", load, err)
		}
		books = append(books, b)
	}
	return s, books, nil
}

// sweep are the loads by which the machine's power is learnt, idle last and longest: it is
// read off beside its neighbour, which should be known by then.
var sweep = []float64{1, 1, .9, .8, .7, .6, .5, .4, .3, .2, .1, 0, 0, 0, 0, 0}

// learn goes through all loads.
func (t *trial) learn(ctx context.Context) error {
	reads := max(int(t.warmUp/t.options.read)/len(sweep), 2) // the first sees the load change
	for _, load := range sweep {
		if err := t.site.set(load); err != nil {
			return err
		}
		if err := t.pass(ctx, reads); err != nil {
			return err
		}
	}
	return nil
}

// pass goes on until the counters have been read so many times more.
func (t *trial) pass(ctx context.Context, reads int) error {
	for reads > 0 {
		if err := t.site.host.sleep(ctx, t.next); err != nil {
			return err
		}
		t.next = t.next.Add(tick)
		if now := t.site.host.now(); t.next.Before(now) {
			t.next = now
		}
		at, err := t.site.advance()
		if err != nil {
			return err
		}
		if at.Sub(t.read) < t.options.read-tick/2 {
			continue
		}
		t.read = at
		reads--
		if err := t.agent.read(at); err != nil {
			return err
		}
	}
	return nil
}

// hold charges the pods for each interval at a load and holds that against the truth.
func (t *trial) hold(ctx context.Context, load int) (*book, error) {
	if err := t.site.set(float64(load) / 100); err != nil {
		return nil, err
	}
	const reach = 3 // reads, until the load is the new one
	if err := t.pass(ctx, reach); err != nil {
		return nil, err
	}
	if _, err := t.agent.charge(); err != nil {
		return nil, err
	}
	b := newBook(t.pods, t.truth(), t.agent)
	for range t.intervals {
		if err := t.pass(ctx, int(t.interval/t.options.read)); err != nil {
			return nil, err
		}
		charge, err := t.agent.charge()
		if err != nil {
			return nil, err
		}
		b.enter(t.site, charge, t.truth())
	}
	b.close(t.agent)
	return b, nil
}

// truth is what the machine knows now.
func (t *trial) truth() truth {
	now := truth{at: t.read, loads: t.site.machine.Loads(), cpu: append([]time.Duration(nil), t.site.taken...)}
	now.node, now.pods = t.site.machine.Truth()
	return now
}
