package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// plan is what all commands that run experiments have in common, as flags.
type plan struct {
	params   experiment.Params
	sweep    experiment.Sweep
	laws     []string
	requests []string
	seeds    int
	seed     uint64
	traces   []string
	// schedulers are compared; empty takes the experiments' own.
	schedulers []string
	report     string
	output     output
	flags      *pflag.FlagSet
}

func (p *plan) bind(set *pflag.FlagSet) {
	p.flags = set
	set.IntVar(&p.seeds, "seeds", 10, "how many seeds to run")
	set.Uint64Var(&p.seed, "seed", 0, fmt.Sprintf("first of the seeds (default 1, of those held out %d)", experiment.FirstHeldOut))
	set.BoolVar(&p.params.HeldOut, "held-out", false, fmt.Sprintf("take the seeds, from %d on, and the halves of traces that are not for tuning", experiment.FirstHeldOut))
	set.Float64SliceVar(&p.sweep.Work, "work", nil, "mean work of a pod in core-seconds; several make a sweep (default: the experiment's)")
	set.Float64SliceVar(&p.sweep.Load, "load", nil, "share of the cores that arrivals take; several make a sweep (default: the experiment's)")
	set.StringSliceVar(&p.laws, "law", nil, "law of the work, equal or exponential; several make a sweep (default: the experiment's)")
	set.StringSliceVar(&p.requests, "requests", nil, "what pods declare: of wrong-requests none, over, under or mixed, of servers and services none or servers, of traces none or planned; several make a sweep (default: the experiment's)")
	set.StringSliceVar(&p.sweep.Fleet, "fleet", nil, "nodes by cores, as 16x4+2x64; several make a sweep; \"all\" for all of the experiment's (default: the first of them, of the experiment \"all\" all)")
	set.IntVar(&p.params.Pods, "batch", 0, "pods of a batch (default: the experiment's)")
	set.Float64Var(&p.params.Duration, "duration", 0, "seconds in which pods arrive (default: the experiment's)")
	set.TextVar(&p.params.Overcommit, "overcommit", node.Evict, "`kind` of node where pods exceed its memory: evict does what a kubelet does, kill ends the largest pod, swap slows all down; finding-8 and finding-9-batch are always of nodes that swap")
	set.BoolVar(&p.params.Named, "named", false, "pods of no named workload are of one by the experiment's name, for profiles to tell of")
	set.StringArrayVar(&p.params.Set, "set", nil, "another value of one of Spazio's options, name=value, 0 for its default; may be repeated")
	set.StringArrayVar(&p.traces, "trace", nil, "directory of the trace that an experiment replays, as EXPERIMENT=DIR or DIR; may be repeated")
	set.Float64Var(&p.params.Cluster.Latency, "latency", .25, "seconds one way between any two parts")
	p.output.bind(set)
	set.StringVar(&p.report, "report", "", "also write a report to this .html or .md file")
}

func (p *plan) validate() error {
	if err := checkSeeds(p.seeds); err != nil {
		return err
	}
	if err := p.checkGiven(); err != nil {
		return err
	}
	if err := checkFile("report", p.report, report.CheckPage); err != nil {
		return err
	}
	for _, trace := range p.traces {
		_, dir := traceOf(trace)
		if err := checkDirectory("trace", dir); err != nil {
			return err
		}
	}
	return p.output.validate()
}

func (p *plan) seedsNamed() []uint64 {
	return experiment.Seeds(p.seeds, p.seed, p.params.HeldOut)
}

// runs describes the runs for a report.
func (p *plan) runs() comparison.Runs {
	return comparison.Runs{Seeds: p.seedsNamed(), HeldOut: p.params.HeldOut, Set: p.params.Set, Revision: revision()}
}

// options returns those of a run that reports its progress.
func (p *plan) options(stderr io.Writer) experiment.Options {
	schedulers := p.schedulers
	if isEvery(schedulers) {
		schedulers = nil
	}
	return experiment.Options{
		Schedulers: schedulers, Seeds: p.seedsNamed(), Workers: runtime.GOMAXPROCS(0), Progress: (&progress{out: stderr, of: "runs"}).show,
	}
}

// selection is what the flags ask for of the experiments named.
func (p *plan) selection(names []string) experiment.Selection {
	s := experiment.Selection{
		Names: names, Params: p.params, Sweep: p.sweep, Traces: map[string]fs.FS{},
		EveryFleet: isEvery(p.sweep.Fleet), EveryScheduler: isEvery(p.schedulers),
	}
	if s.EveryFleet {
		s.Sweep.Fleet = nil
	}
	for _, l := range p.laws {
		s.Sweep.Law = append(s.Sweep.Law, workload.Law(l))
	}
	for _, r := range p.requests {
		s.Sweep.Requests = append(s.Sweep.Requests, workload.Requests(r))
	}
	for _, t := range p.traces {
		of, dir := traceOf(t)
		s.Traces[strings.ToLower(of)] = os.DirFS(dir)
	}
	return s
}

// cases returns the cases that are selected and the experiments that are left out. It refuses a flag
// that none of the cases uses.
func (p *plan) cases(s experiment.Selection) (cases []experiment.Case, left []experiment.Experiment, err error) {
	if cases, left, err = s.Cases(); err != nil {
		if errors.Is(err, workload.ErrTrace) { // of a folder that is not there
			err = command.Usage(p.withTraces(err))
		}
		return nil, nil, usage(err)
	}
	return cases, left, command.Usage(p.checkUsed(cases))
}

// withTraces has an error in a trace name its directories, as its files are known by their names alone.
func (p *plan) withTraces(err error) error {
	if errors.Is(err, workload.ErrTrace) {
		return fmt.Errorf("--trace %s: %w", strings.Join(p.traces, ", "), err)
	}
	return err
}

// run runs cases.
func (p *plan) run(ctx context.Context, cases []experiment.Case, o experiment.Options) ([]experiment.Row, error) {
	rows, err := experiment.Run(ctx, cases, o)
	return rows, usage(p.withTraces(err))
}

// traceOf takes a value of --trace apart; of is empty without an experiment.
func traceOf(trace string) (of, dir string) {
	of, dir, ok := strings.Cut(trace, "=")
	if _, err := experiment.ByName(of); !ok || err != nil {
		return "", trace // a directory whose name may have a = in it
	}
	return of, dir
}

// every is the value of --fleet and --schedulers that stands for all there are.
const every = "all"

func isEvery(values []string) bool { return len(values) == 1 && strings.EqualFold(values[0], every) }

// writeReport writes the page that --report asks for. fill writes into it; names of
// files beside it begin with base.
func (p *plan) writeReport(title string, fill func(to *report.Page, base string) error, stderr io.Writer) error {
	if p.report == "" {
		return nil
	}
	to, err := report.NewPage(p.report, title)
	if err != nil {
		return err
	}
	if err := fill(to, strings.TrimSuffix(filepath.Base(p.report), filepath.Ext(p.report))); err != nil {
		return err
	}
	if err := to.Save(p.report); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "report: %s\n", p.report)
	return nil
}
