package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

const long = `Run experiments in a deterministic simulator of a cluster and compare schedulers.

The simulated nodes feed the agents' own code, and the agents' reports the
plugin's own decisions; other schedulers are re-implemented with what they would
see, as late as they would see it. The same seed gives the same figures on any
number of cores. --list shows the experiments and the schedulers.

The table gives means over the seeds, and the ratio to kube-scheduler's default
seed by seed, each with its 95 % confidence interval. --output csv or json gives
one row a run and metric. --report writes a page that explains the experiment,
shows pictures and says which targets hold.`

// flags are the command line in its own units.
type flags struct {
	params     experiment.Params
	sweep      experiment.Sweep
	laws       []string
	requests   []string
	schedulers []string
	seeds      int
	firstSeed  uint64
	parallel   int
	trace      string
	output     string
	report     string
	list       bool
}

// NewCommand returns the simulate subcommand.
func NewCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "simulate EXPERIMENT...",
		Short: "Compare schedulers in a deterministic simulator",
		Long:  long,
		Example: `  spazio simulate --list
  spazio simulate b1 --work 10 --schedulers spazio,default --seeds 10
  spazio simulate b2 b3 --output csv > rows.csv
  spazio simulate findings
  spazio simulate h1 --trace path/to/series --report h1.html`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.list, "list", false, "list the experiments and the schedulers, and end")
	set.StringSliceVar(&f.schedulers, "schedulers", nil, "schedulers to compare (default: the experiment's)")
	set.IntVar(&f.seeds, "seeds", 10, "how many seeds to run")
	set.Uint64Var(&f.firstSeed, "first-seed", 1, "the first of the seeds, which are consecutive")
	set.Float64SliceVar(&f.sweep.Work, "work", nil, "mean work of a pod in core-seconds; several make a sweep (default: the experiment's)")
	set.Float64SliceVar(&f.sweep.Load, "load", nil, "share of the cores that arrivals take; several make a sweep (default: the experiment's)")
	set.StringSliceVar(&f.laws, "law", nil, "law of the work, equal or exponential; several make a sweep (default: the experiment's)")
	set.StringSliceVar(&f.requests, "requests", nil, "what pods of w1 declare: none, over, under or mixed; several make a sweep (default mixed)")
	set.IntVar(&f.params.Nodes, "nodes", 19, "nodes of the cluster")
	set.IntVar(&f.params.Cores, "cores", 4, "cores of a node")
	set.IntVar(&f.params.Pods, "pods", 0, "pods of a batch (default: the experiment's)")
	set.Float64Var(&f.params.Duration, "duration", 0, "seconds in which pods arrive (default: the experiment's)")
	set.BoolVar(&f.params.Kill, "oom-kill", false, "nodes kill pods that exceed their memory instead of swapping")
	set.StringVar(&f.trace, "trace", "", "directory of the trace that an experiment replays")
	set.Float64Var(&f.params.Cluster.Latency, "latency", .001, "seconds one way between any two parts")
	set.Float64Var(&f.params.Cluster.SchedulerDelay, "scheduler-delay", 0, "seconds that a scheduler takes for one pod; 0 is what was measured for the number of nodes")
	set.Float64Var(&f.params.Cluster.KubeletRate, "kubelet-rate", 10, "pods a second that a kubelet starts")
	set.IntVar(&f.parallel, "parallel", runtime.GOMAXPROCS(0), "runs at a time; does not change the figures")
	set.StringVarP(&f.output, "output", "o", "table", "table, json or csv")
	set.StringVar(&f.report, "report", "", "also write a report to this .html or .md file")
}

// ErrFlag is a flag with a value out of range; match it with errors.Is.
var ErrFlag = errors.New("out of range")

func (f *flags) validate(args []string) error {
	switch extension := filepath.Ext(f.report); {
	case len(args) == 0:
		return fmt.Errorf("which experiment? --list shows them: %w", ErrFlag)
	case f.seeds < 1 || f.seeds > 10_000:
		return fmt.Errorf("--seeds %d, want 1 to 10000: %w", f.seeds, ErrFlag)
	case f.parallel < 1:
		return fmt.Errorf("--parallel %d, want at least 1: %w", f.parallel, ErrFlag)
	case f.output != "table" && f.output != "json" && f.output != "csv":
		return fmt.Errorf("--output %s, want table, json or csv: %w", f.output, ErrFlag)
	case f.report != "" && extension != ".html" && extension != ".md":
		return fmt.Errorf("--report %s, want a file ending in .html or .md: %w", f.report, ErrFlag)
	}
	return nil
}

func (f *flags) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if f.list {
		return writeList(stdout)
	}
	if err := f.validate(args); err != nil {
		return serve.Usage(err)
	}
	cases, err := f.cases(args)
	if err != nil {
		return serve.Usage(err)
	}
	options := experiment.Options{
		Schedulers: f.schedulers, Workers: f.parallel,
		Progress: (&progress{out: stderr}).show,
	}
	for i := range f.seeds {
		options.Seeds = append(options.Seeds, f.firstSeed+uint64(i))
	}
	rows, err := experiment.Run(ctx, cases, options)
	if err != nil {
		var name *experiment.NameError
		var field *workload.FieldError
		if errors.As(err, &name) || errors.As(err, &field) {
			return serve.Usage(err)
		}
		return err
	}
	set := results{cases: cases, rows: rows, seeds: options.Seeds}
	if f.report != "" {
		if err := writeReport(f.report, set); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "report: %s\n", f.report)
	}
	return set.write(stdout, f.output)
}

// cases are those of all experiments named.
func (f *flags) cases(names []string) ([]experiment.Case, error) {
	for _, l := range f.laws {
		f.sweep.Law = append(f.sweep.Law, workload.Law(l))
	}
	for _, r := range f.requests {
		f.sweep.Requests = append(f.sweep.Requests, workload.Requests(r))
	}
	params := f.params
	if f.trace != "" {
		params.Trace = os.DirFS(f.trace)
	}
	var cases []experiment.Case
	for _, name := range names {
		group, err := experiment.ByGroup(name)
		if err != nil {
			return nil, err
		}
		for _, e := range group {
			more, err := e.Cases(params, f.sweep)
			if err != nil {
				return nil, err
			}
			cases = append(cases, more...)
		}
	}
	return cases, nil
}

func writeList(out io.Writer) error {
	var b strings.Builder
	b.WriteString("experiments\n")
	for _, e := range experiment.Experiments() {
		fmt.Fprintf(&b, "  %-6s %s: %s\n", e.Name, e.Title, e.Question)
		if e.NeedsTrace != "" {
			fmt.Fprintf(&b, "         --trace: %s\n", e.NeedsTrace)
		}
	}
	findings, err := experiment.ByGroup(experiment.Findings)
	if err != nil {
		return err
	}
	b.WriteString(experiment.Findings + ", which stands for all of\n")
	for _, e := range findings {
		fmt.Fprintf(&b, "  %-18s %s: %s\n", e.Name, e.Title, e.Question)
	}
	b.WriteString("schedulers\n")
	for _, s := range experiment.Schedulers() {
		fmt.Fprintf(&b, "  %-20s %s\n", s.Name, s.About)
	}
	b.WriteString("variants that the findings compare\n")
	for _, s := range experiment.Variants() {
		fmt.Fprintf(&b, "  %-24s %s\n", s.Name, s.About)
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// progress tells how far the runs are, a line for each tenth.
type progress struct {
	out   io.Writer
	tenth int
}

func (p *progress) show(done, all int) {
	if tenth := 10 * done / all; tenth > p.tenth {
		p.tenth = tenth
		fmt.Fprintf(p.out, "%d of %d runs\n", done, all)
	}
}
