package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
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

// run holds each load.
func run(ctx context.Context, o options, progress io.Writer) (r result, err error) {
	s, err := newSite(ctx, o)
	defer func() { err = errors.Join(err, s.stop()) }()
	if err != nil {
		return r, err
	}
	a, err := newAgent(s.powercap(), sockets*s.cores, telemetry.CgroupConfig{Root: s.kubelet.CgroupRoot(), ProcRoot: s.kubelet.ProcRoot()})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	runtime.LockOSThread() // it ends with the process, for its priority is its own
	prefer()
	t := &trial{options: o, site: s, agent: a, next: time.Now()}
	fmt.Fprintf(progress, "learning for %v\n", o.warmUp)
	if err := t.learn(ctx); err != nil {
		return r, err
	}
	r = newResult(o, s)
	for _, load := range o.loads {
		fmt.Fprintf(progress, "%d %% for %v\n", load, time.Duration(o.intervals)*o.interval)
		row, err := t.hold(ctx, load)
		if err != nil {
			return r, fmt.Errorf("%d %%: %w", load, err)
		}
		r.Loads = append(r.Loads, row)
	}
	return r, nil
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
		if err := program.Sleep(ctx, time.Until(t.next)); err != nil {
			return err
		}
		t.next = t.next.Add(tick)
		if now := time.Now(); t.next.Before(now) {
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
func (t *trial) hold(ctx context.Context, load int) (row, error) {
	if err := t.site.set(float64(load) / 100); err != nil {
		return row{}, err
	}
	const reach = 3 // reads, until the load is the new one
	if err := t.pass(ctx, reach); err != nil {
		return row{}, err
	}
	if _, err := t.agent.charge(); err != nil {
		return row{}, err
	}
	b := newBook(t)
	for range t.intervals {
		if err := t.pass(ctx, int(t.interval/t.options.read)); err != nil {
			return row{}, err
		}
		charged, err := t.agent.charge()
		if err != nil {
			return row{}, err
		}
		_, truth := t.site.machine.Truth()
		for i, uid := range t.site.pods {
			b.enter(i, charged[uid].Joules, charged[uid].SD, truth[i])
		}
	}
	return b.row(t, load), nil
}

// book is what has been charged and what is true, from the beginning of a load.
type book struct {
	at          time.Time
	busy        time.Duration
	node, meter float64 // joules at the beginning, in truth and by the meter
	refused     int

	first, last, charged []float64 // joules of each pod
	inside, all          int
	doubt, missed, size  float64 // sums of squares
}

func newBook(t *trial) *book {
	node, truth := t.site.machine.Truth()
	return &book{
		at: t.read, busy: t.agent.usage.Node.Busy, node: node, meter: t.agent.joules(), refused: t.agent.refused,
		first: truth, last: append([]float64(nil), truth...), charged: make([]float64, len(truth)),
	}
}

// enter takes what pod i was charged for an interval, at the end of which it has in truth
// caused so much in all.
func (b *book) enter(i int, joules, sd, truth float64) {
	missed := joules - (truth - b.last[i])
	b.last[i] = truth
	b.charged[i] += joules
	b.all++
	if math.Abs(missed) <= 2*sd {
		b.inside++
	}
	b.doubt, b.missed, b.size = b.doubt+sd*sd, b.missed+missed*missed, b.size+joules*joules
}

// row is what came out.
func (b *book) row(t *trial, load int) row {
	node, truth := t.site.machine.Truth()
	seconds := t.read.Sub(b.at).Seconds()
	r := row{
		Load: load, Reached: 100 * (t.agent.usage.Node.Busy - b.busy).Seconds() / seconds / t.agent.cores,
		Joules: t.agent.joules() - b.meter, Truth: node - b.node,
		Intervals: b.all, Inside: b.inside, Refused: t.agent.refused - b.refused,
		SD: 100 * math.Sqrt(b.doubt/b.size), RMS: 100 * math.Sqrt(b.missed/b.size),
	}
	r.NodeError = 100 * math.Abs(r.Joules/r.Truth-1)
	for i := range t.site.pods {
		r.PodError = max(r.PodError, 100*math.Abs(b.charged[i]/(truth[i]-b.first[i])-1))
	}
	return r
}
