package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// filterLag is that of the filter in samples: its persistence gate and one.
const filterLag = 6

// Periods of the fleet in the time the node lives in.
const (
	pushMinInterval = time.Second
	pushMaxAge      = 10 * time.Second
)

// Agent measures a node and reports to schedulers and the aggregator. Run is called
// once; the other methods are safe for concurrent use.
type Agent struct {
	config   Config
	pipeline *agent.Pipeline
	// recorded is the pipeline's config as a recording has it.
	recorded agent.Config
	loop     *loop
	signals  *publish.Signals
	models   *publish.Models // nil without an aggregator
	usages   *publish.Usages // nil without profilers
}

// New checks the config and registers the metrics. Nothing is started: the caller
// that never runs the Agent need not end it either. The error is that of
// Config.Validate, or of the files of Config.Transport, or reports that Registerer
// holds other metrics of the same names.
func New(c Config) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	config, err := c.pipeline(uint64(time.Now().UnixNano()))
	if err != nil {
		return nil, err
	}
	pipeline, err := agent.New(config)
	if err != nil {
		return nil, err
	}
	a := &Agent{config: c, pipeline: pipeline, recorded: config}
	if err := a.connect(); err != nil {
		return nil, err
	}
	if err := a.measure(); err != nil {
		return nil, err
	}
	return a, nil
}

// connect prepares the streams.
func (a *Agent) connect() (err error) {
	signals := a.config.signals()
	signals.OnNotice = a.notice
	if a.signals, err = publish.NewSignals(signals); err != nil {
		return published(err)
	}
	if len(a.config.Profilers) > 0 {
		usages := a.config.usages()
		usages.Incarnation = a.recorded.Incarnation
		if a.usages, err = publish.NewUsages(usages); err != nil {
			return published(err)
		}
	}
	if a.config.Aggregator == "" {
		return nil
	}
	models := a.config.models()
	models.Staleness = publish.Staleness{MinInterval: a.config.wall(pushMinInterval), MaxAge: a.config.wall(pushMaxAge)}
	models.OnFleet = func(f agent.Fleet) { a.loop.input.setFleet(f) }
	a.models, err = publish.NewModels(models)
	return published(err)
}

// measure prepares the loop.
func (a *Agent) measure() (err error) {
	c := a.config
	config := loopConfig{
		Pipeline: a.pipeline, Sampler: c.Meter, SizesTo: c.Meter.SizesTo, Pods: c.Pods, Period: c.wall(c.period()),
		OnReport: a.reported, Logger: c.Logger,
	}
	if c.Clock != nil {
		config.Now = c.Clock.Now
	}
	if a.models != nil {
		config.OnLocal = a.models.Offer
	}
	if c.Usage != nil {
		config.Usage = c.Usage
	}
	if a.usages != nil {
		config.OnUsage = a.usages.Take
	}
	if c.Energy != nil {
		config.Power = newPowerMeter(*c.Energy, c.Logger)
		if c.Registerer != nil {
			if err := c.Registerer.Register(config.Power); err != nil {
				return err
			}
		}
	}
	if c.Registerer != nil {
		if config.Metrics, err = newMetrics(c.Registerer, c.Pods); err != nil {
			return err
		}
	}
	a.loop = newLoop(config)
	return nil
}

func (a *Agent) reported(r agent.Report, sampled time.Time) {
	a.signals.Send(r, sampled)
	if a.config.OnReport != nil {
		a.config.OnReport(r)
	}
}

// notice takes the schedulers' notices.
func (a *Agent) notice(_ string, n *spaziov1.Notice) {
	switch e := n.GetEvent().(type) {
	case *spaziov1.Notice_PodBound:
		b, err := api.ToBind(e.PodBound)
		if err != nil {
			a.config.Logger.Warn("part of a scheduler's notice of a bound pod is ignored", "error", err) // the bind itself stands
		}
		a.loop.input.bound(b)
	case *spaziov1.Notice_GhostPods:
		pods, err := api.ToPlaceholders(e.GhostPods)
		if err != nil {
			a.config.Logger.Warn("a scheduler's list of placeholder pods is ignored", "error", err)
			return
		}
		a.loop.input.setPlaceholders(pods)
	}
}

// Report returns the newest report, which must not be modified; ok is false
// before the first.
func (a *Agent) Report() (r agent.Report, ok bool) { return a.loop.lastReport() }

// Why explains the newest report; Explain puts it in words. It waits for the
// sample that is being taken, at most until ctx ends. Before the first report the
// error is ErrNoReport.
func (a *Agent) Why(ctx context.Context) (agent.Why, error) { return a.loop.why(ctx) }

// Health returns an error if no good sample was taken for ten periods.
func (a *Agent) Health() error { return a.loop.health() }

// Ready returns an error unless the agent sees its pods, has made a report and, if
// it was given schedulers, has an open stream to one: until then no scheduler knows
// the node's room. Single pods whose containers it can't see (telemetry.ErrUnseenPods) do
// not make it unready: their load is measured with the node's.
func (a *Agent) Ready() error {
	if err := telemetry.PodSourceHealth(a.config.Pods); err != nil && !errors.Is(err, telemetry.ErrUnseenPods) {
		return fmt.Errorf("pods: %w", err)
	}
	if _, ok := a.loop.lastReport(); !ok {
		return ErrNoReport
	}
	if len(a.config.Schedulers) > 0 && a.signals.Connected() == 0 {
		return errors.New("no scheduler is connected")
	}
	return nil
}

// Run measures and publishes until ctx ends, which is no error, or until the pod
// source or the recording fails. A peer that is away is no error either. When Run
// returns, every goroutine, stream and file that it opened has ended.
func (a *Agent) Run(ctx context.Context) error {
	recorder, err := a.record()
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.loop.run(ctx, recorder) })
	g.Go(func() error { return a.signals.Run(ctx) })
	if a.usages != nil {
		g.Go(func() error { return a.usages.Run(ctx) })
	}
	if a.models != nil {
		g.Go(func() error { return a.models.Run(ctx) })
	}
	err = g.Wait()
	if failed := recorder.Close(); failed != nil {
		err = errors.Join(err, fmt.Errorf("recording: %w", failed))
	}
	return err
}

// record begins the recording; nil if there is to be none.
func (a *Agent) record() (*recording.Recorder, error) {
	if a.config.RecordDir == "" {
		return nil, nil
	}
	options := a.config.Record
	options.State = a.pipeline.State
	return recording.Create(a.config.RecordDir, a.recorded, options)
}

// ProcessLimits keep a process that is only a node's agent small beside what it measures; a
// larger process that embeds the agent leaves them out. A zero field changes nothing.
type ProcessLimits struct {
	// Memory bounds, in bytes, what Go's runtime holds before it collects garbage
	// ever harder; the program's text comes on top.
	Memory int64
	// Procs is how many threads run Go at once: all that an agent does in a second
	// takes some milliseconds, and with one thread nothing is handed across CPUs.
	Procs int
}

// DefaultProcessLimits are those of spazio-agent.
func DefaultProcessLimits() ProcessLimits { return ProcessLimits{Memory: 20 << 20, Procs: 1} }

// gcPercent halves the heap at which Go begins to collect, 4 MiB. An agent makes
// so little garbage that collecting it twice as often costs nothing to be seen.
const gcPercent = 50

// Validate returns a *field.Error for the first field out of range.
func (l ProcessLimits) Validate() error {
	switch {
	case l.Memory < 0:
		return refuse("Memory", l.Memory, "must not be negative")
	case l.Procs < 0:
		return refuse("Procs", l.Procs, "must not be negative")
	}
	return nil
}

// Apply sets the limits of the whole process. It is not for concurrent use.
func (l ProcessLimits) Apply() error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.Memory > 0 {
		debug.SetMemoryLimit(l.Memory)
		debug.SetGCPercent(gcPercent)
	}
	if l.Procs > 0 {
		runtime.GOMAXPROCS(l.Procs)
	}
	return nil
}
