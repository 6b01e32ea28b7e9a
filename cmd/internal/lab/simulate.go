package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

const simulateLong = `Run experiments in a deterministic simulator of a cluster and compare schedulers.

The simulated nodes feed the agents' own code, and the agents' reports the
plugin's own decisions; other schedulers are re-implemented with what they would
see, as late as they would see it. The same seed gives the same figures on any
number of cores. --list shows the experiments, the schedulers and the constants
of Spazio. An experiment that is named runs on the first of its fleets, under the
schedulers that answer its question; --fleet all and --schedulers all take the rest
in. The experiment "all" stands for all of them, whole, but those that need a trace
and were given none.

The tables give means over the seeds, and the ratio to kube-scheduler's default
seed by seed, each with its 95 % confidence interval: of the metrics that tell most
of the experiment as many as fit 120 columns, with --output wide all. --output csv or json
gives one row a run and metric. --report writes a page that explains the
experiment, shows pictures and lists which targets hold. The short names of experiments,
b1 for batch, stand for them until the next release.

Tune on the seeds and the halves of traces that are taken by default, and report
on others: --held-out takes the seeds from 101 on and the second half of every
trace.`

// simulateFlags are the command line in its own units.
type simulateFlags struct {
	plan
	list     bool
	workload string
	keep     string
	pods     string
}

// newSimulateCommand returns the command `spazio-lab simulate`.
func newSimulateCommand() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate EXPERIMENT...",
		Short: "Compare schedulers in a deterministic simulator",
		Long:  simulateLong,
		Example: `  spazio-lab simulate --list
  spazio-lab simulate batch --work 10
  spazio-lab simulate batch --work 10 --fleet all --schedulers all
  spazio-lab simulate arrivals memory --output csv > rows.csv
  spazio-lab simulate findings
  spazio-lab simulate background --trace path/to/series --report background.html
  spazio-lab simulate batch --set agent.churn-hold=500ms
  spazio-lab simulate --workload pods.csv --fleet 4x16 --seeds 3 --pods records.csv
  spazio-lab simulate all --held-out --trace background=series --trace functions=invocations \
      --keep runs.jsonl --report evaluation.md`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.bind(cmd.Flags())
	cmd.Flags().BoolVar(&f.list, "list", false, "list the experiments, the schedulers and the constants, and end")
	cmd.Flags().StringSliceVar(&f.schedulers, "schedulers", nil, "schedulers to compare; \"all\" for all of the experiment's (default: those that answer its question, of the experiment \"all\" all)")
	cmd.Flags().StringVar(&f.workload, "workload", "", "CSV of pods to run beside or in the place of experiments: arrival (s) and work (core-seconds) or phases, and optionally cores, memory (bytes), threads, owner, and what they declare: request_cores, request_memory, limit_cores, limit_memory (bytes); go doc ./sim/workload ReadPods describes them")
	cmd.Flags().StringVar(&f.keep, "keep", "", "file in which runs are kept: those in it are not made again, others are added; empty for none; not with --pods")
	cmd.Flags().StringVar(&f.pods, "pods", "", "also write a row a pod and run to this CSV file")
	cmd.AddCommand(newSensitivityCommand(), newTuningCommand())
	return cmd
}

var errNoExperiment = fmt.Errorf("no experiment is named, and --list shows them: %w", errFlag)

func (f *simulateFlags) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if f.list {
		return comparison.WriteCatalogue(stdout)
	}
	if len(args) == 0 && f.workload == "" {
		return command.Usage(errNoExperiment)
	}
	if err := f.validate(); err != nil {
		return command.Usage(err)
	}
	selection := f.selection(args)
	var err error
	if selection.Given, err = f.given(); err != nil {
		return usage(err)
	}
	cases, left, err := f.cases(selection)
	if err != nil {
		return err
	}
	for _, e := range left {
		fmt.Fprintf(stderr, "%s is left out: give it --trace %s=DIR, %s\n", e.Name, e.Name, e.NeedsTrace)
	}
	options := f.options(stderr)
	finish, err := f.recorded(&options)
	if err != nil {
		return err
	}
	done, err := f.kept(&options)
	if err != nil {
		return errors.Join(err, finish())
	}
	rows, err := f.plan.run(ctx, cases, options)
	written := errors.Join(finish(), done())
	if errors.Is(err, context.Canceled) && f.keep != "" && written == nil {
		return fmt.Errorf("%w; %s keeps the runs that were made, and the same command goes on with them", command.ErrInterrupted, f.keep)
	}
	if err := errors.Join(err, written); err != nil {
		return err
	}
	c := comparison.Comparison{Cases: cases, Rows: rows, LeftOut: left, Runs: f.runs()}
	report := func(to *report.Page, base string) error { c.Report(to, base); return nil }
	if err := f.writeReport("Simulated schedulers compared", report, stderr); err != nil {
		return err
	}
	return f.output.write(stdout, rows, comparison.Rows(rows), c.Tables(f.output.width())...)
}

// kept has the runs of --keep taken and added to; the function it returns ends that.
func (f *simulateFlags) kept(o *experiment.Options) (done func() error, err error) {
	if f.keep == "" {
		return func() error { return nil }, nil
	}
	if o.Observe != nil {
		return nil, command.Usage(fmt.Errorf("--keep has no pods: %w", errFlag))
	}
	file, err := os.OpenFile(f.keep, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	if o.Kept, err = experiment.Keep(file, revision()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.keep, err), file.Close())
	}
	return func() error { return errors.Join(o.Kept.Err(), file.Close()) }, nil
}

// recorded has the pods of all runs written to the file of --pods; the function it returns ends that.
func (f *simulateFlags) recorded(o *experiment.Options) (finish func() error, err error) {
	if f.pods == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(f.pods)
	if err != nil {
		return nil, err
	}
	recorder := experiment.NewRecorder(file, revision())
	o.Observe = recorder.Observe
	return func() error { return errors.Join(recorder.Err(), file.Close()) }, nil
}

// given is the experiment of the pods of --workload, if there is one.
func (f *simulateFlags) given() ([]experiment.Experiment, error) {
	if f.workload == "" {
		return nil, nil
	}
	file, err := os.Open(f.workload)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pods, err := workload.ReadPods(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.workload, err)
	}
	name := strings.TrimSuffix(filepath.Base(f.workload), filepath.Ext(f.workload))
	return []experiment.Experiment{experiment.Given(name, pods)}, nil
}

// usage marks errors that are the caller's.
func usage(err error) error {
	var name *experiment.NameError
	var setting *experiment.OptionError
	if errors.As(err, &name) || errors.As(err, &setting) || field.By(err, "workload", "sim") != nil ||
		errors.Is(err, experiment.ErrNoTrace) || errors.Is(err, workload.ErrPods) {
		return command.Usage(err)
	}
	return err
}

// progress writes how far the runs are, a line for each tenth.
type progress struct {
	out   io.Writer
	of    string
	tenth int
}

func (p *progress) show(done, all int) {
	if tenth := 10 * done / all; tenth > p.tenth {
		p.tenth = tenth
		fmt.Fprintf(p.out, "%d of %d %s\n", done, all, p.of)
	}
}
