package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Row is one figure of one run.
type Row struct {
	Experiment string  `json:"experiment"`
	Scheduler  string  `json:"scheduler"`
	Seed       uint64  `json:"seed"`
	Metric     string  `json:"metric"`
	Value      float64 `json:"value"`
	Unit       string  `json:"unit"`
}

// Options of Run.
type Options struct {
	// Schedulers by name; empty takes those of each experiment and those of Own.
	Schedulers []string
	// Own are schedulers besides, by names that none of Schedulers has.
	Own map[string]sim.Scheduler
	// Seeds, at least one.
	Seeds []uint64
	// Workers run at a time, at least 1.
	Workers int
	// Observe, if set, is called with each run, in the order of the rows; the lower bound
	// is none. Calls do not overlap.
	Observe func(c Case, scheduler string, seed uint64, r sim.Result)
	// Kept, if set, has the rows of runs that need not be made again, and takes those of
	// the others. It does not go with Observe.
	Kept *kept
	// Progress, if set, is called after each run with how many of all have ended. Calls
	// do not overlap.
	Progress func(done, all int)
}

type task struct {
	kase      Case
	scheduler string
	own       sim.Scheduler // nil for one that is known by its name
	seed      uint64
}

// errOwn refuses a scheduler of one's own that is nil, or whose name another has.
var errOwn = errors.New("must be a scheduler under a name that Schedulers does not have")

// Run runs every case under every scheduler with every seed. The first error
// ends it; otherwise the rows depend on the arguments alone, not on Workers. It
// returns when all it started has ended.
func Run(ctx context.Context, cases []Case, o Options) ([]Row, error) {
	tasks, err := plan(cases, o)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	done, observed := 0, 0
	results := make([]outcome, len(tasks))
	err = sim.Parallel(ctx, len(tasks), o.Workers, func(ctx context.Context, i int) error {
		t := tasks[i]
		result, err := t.runOrRecall(ctx, o.Kept)
		if err != nil {
			return fmt.Errorf("%s under %s, seed %d: %w", t.kase.Label, t.scheduler, t.seed, err)
		}
		mu.Lock()
		defer mu.Unlock()
		results[i] = result
		done++
		for ; observed < len(tasks) && results[observed].rows != nil; observed++ {
			tasks[observed].observe(o, &results[observed])
		}
		if o.Progress != nil {
			o.Progress(done, len(tasks))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, r := range results {
		rows = append(rows, r.rows...)
	}
	return rows, nil
}

func plan(cases []Case, o Options) ([]task, error) {
	var tasks []task
	own := slices.Sorted(maps.Keys(o.Own))
	for _, name := range own {
		if _, err := byName(name); err == nil || name == Idle || o.Own[name] == nil {
			return nil, &field.Error{Package: "experiment", Field: "Own", Value: name, Err: errOwn}
		}
	}
	for _, c := range cases {
		names := o.Schedulers
		if len(names) == 0 {
			names = c.Experiment.schedulers
		}
		if len(names) == 0 {
			names = defaultSchedulers()
		}
		if len(o.Schedulers) == 0 {
			names = slices.Concat(names, own)
		}
		if c.Experiment.idle {
			names = append(append([]string{}, names...), Idle)
		}
		for _, name := range names {
			if name == centralQueue && c.Experiment.partial {
				continue
			}
			if name != Idle && o.Own[name] == nil {
				if _, err := byName(name); err != nil {
					return nil, err
				}
			}
			for _, seed := range o.Seeds {
				tasks = append(tasks, task{c, name, o.Own[name], seed})
			}
		}
	}
	return tasks, nil
}

// runOrRecall makes the run unless its rows were kept.
func (t task) runOrRecall(ctx context.Context, kept *kept) (outcome, error) {
	if rows := kept.of(t); rows != nil {
		return outcome{rows: rows}, nil
	}
	ended, err := t.run(ctx)
	if err == nil {
		kept.add(t, ended.rows)
	}
	return ended, err
}

// run makes the run.
func (t task) run(ctx context.Context) (outcome, error) {
	config, pods, err := t.kase.Experiment.build(t.kase.Params, t.seed)
	if err != nil {
		return outcome{}, err
	}
	if requests, ok := declares[t.scheduler]; ok {
		if pods, err = workload.Declare(t.seed, pods, requests, t.kase.Params.largest()); err != nil {
			return outcome{}, err
		}
	}
	if t.kase.Params.Named {
		name(pods, t.kase.Experiment.Name)
	}
	config.Seed = t.seed
	if t.scheduler == Idle {
		pods = idle(config, pods)
	}
	if err := t.place(&config); err != nil {
		return outcome{}, err
	}
	result, metrics, err := t.metrics(ctx, config, pods)
	if err != nil {
		return outcome{}, err
	}
	rows := make([]Row, 0, len(metrics))
	for _, m := range metrics {
		rows = append(rows, Row{t.kase.Label, t.scheduler, t.seed, m.Name, m.Value, m.Unit})
	}
	return outcome{rows, result}, nil
}

// name gives the pods that have none a workload.
func name(pods []sim.Pod, workload string) {
	for i := range pods {
		switch p := &pods[i]; {
		case p.Workload != "":
		case p.Server.Rate > 0:
			p.Workload = workload + "-server"
		default:
			p.Workload = workload
		}
	}
}

// outcome is a run that has ended; the lower bound has no result.
type outcome struct {
	rows   []Row
	result *sim.Result
}

// observe passes a run on, which is kept no longer.
func (t task) observe(o Options, ended *outcome) {
	if o.Observe != nil && ended.result != nil {
		o.Observe(t.kase, t.scheduler, t.seed, *ended.result)
	}
	ended.result = nil
}

// place makes the scheduler of the run, if it is one that places pods.
func (t task) place(c *sim.Config) (err error) {
	switch {
	case t.own != nil:
		c.Scheduler = t.own
	case t.scheduler == lowerBound || t.scheduler == centralQueue:
	case t.scheduler == Idle:
		c.Scheduler = sim.Default{}
	default:
		c.Scheduler, err = schedulerOf(t.scheduler, t.kase.Params)
	}
	return err
}

// metrics are those of the pods under the task's scheduler.
func (t task) metrics(ctx context.Context, c sim.Config, pods []sim.Pod) (*sim.Result, []sim.Metric, error) {
	var result sim.Result
	var err error
	switch t.scheduler {
	case lowerBound:
		metrics, err := bound(c, pods)
		return nil, metrics, err
	case centralQueue:
		result, err = sim.CentralQueue(c, pods)
	default:
		result, err = sim.Run(ctx, c, pods)
	}
	return &result, sim.Summarise(result), err
}

// bound is the lower bound of the metrics that have one.
func bound(c sim.Config, pods []sim.Pod) ([]sim.Metric, error) {
	makespan, sojourn, err := sim.LowerBound(c, pods)
	return []sim.Metric{
		{Name: "makespan", Value: makespan, Unit: "s"},
		{Name: "sojourn_mean", Value: sojourn, Unit: "s"},
	}, err
}

// idleSpan is how long servers run alone that no service has, in seconds.
const idleSpan = 300

// idle keeps services and what is on the nodes from the start, and adds a pod of a millisecond
// whose end ends the run where there are servers alone.
func idle(c sim.Config, pods []sim.Pod) []sim.Pod {
	span := float64(idleSpan)
	if len(c.Services) > 0 { // their day, at whose end the run is over
		span = 0
	}
	for _, s := range c.Services {
		span = max(span, s.Step*float64(len(s.Rates)))
	}
	alone := []sim.Pod{{Created: span, Work: .001}}
	for _, p := range pods {
		if p.On > 0 || p.Server.Rate > 0 {
			alone = append(alone, p)
		}
	}
	return alone
}
