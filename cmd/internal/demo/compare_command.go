package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

const compareLong = `Compare schedulers by the energy that an application takes under them, and by how its
requests fare, in runs that alternate.

This machine is the cluster: slices of its CPUs are nodes, and the pods are real
processes of a small social network of nine tiers, under a constant load; pods are
killed meanwhile and placed anew. Each slice has energy counters that are simulated, over
the real CPU time of what runs on it: 10 W idle to 40 W at full for every other slice,
25 W to 95 W for the rest. Control plane, scheduler, agents and load are processes of their
own. The control plane and the scheduler are on the first slice.

A scheduler is compared with the first by the ratio of each quantity, pair by pair, with
its 95 % interval; one that holds 1 reads "no difference shown". A run in which the load
was sent late is void and made again, twice at most. Nothing is left behind.

With --kubeconfig the cluster is one that is there, with Spazio and its agents' energy
installed: the same application, of --image (program spazio-testapp), in the namespace
spazio-compare, which is made and removed; joules are what the agents tell of their nodes.
"compare role" prints the rights that this takes.`

// flags are the command line.
type compareFlags struct {
	config compare.Config
	phases string
	out    string
	output string

	kubeconfig, image string
	replace           bool
}

// NewCommand returns the command compare.
func newCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use: "compare", Short: "Compare schedulers by energy and latency, with intervals", Long: compareLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.Flags(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.bind(cmd.Flags())
	cmd.AddCommand(newComponents(), newGuests(), newFollowing(), newRole())
	return cmd
}

func (f *compareFlags) bind(set *pflag.FlagSet) {
	c := &f.config
	d := compare.DefaultConfig()
	set.StringSliceVar(&c.Schedulers, "schedulers", d.Schedulers, fmt.Sprintf("what to compare, the first with each other one, of %v, or with --kubeconfig schedulerNames of the cluster; a name twice compares it with itself", slices.Sorted(maps.Keys(profiles))))
	set.IntVar(&c.Runs, "runs", d.Runs, "runs of each scheduler")
	set.DurationVar(&c.Duration, "duration", d.Duration, "how long a run is measured")
	set.DurationVar(&c.WarmUp, "warm-up", d.WarmUp, "how long the load goes on before that")
	set.Float64Var(&c.Rate, "rate", d.Rate, "requests a second")
	set.IntVar(&c.Kill, "kill", d.Kill, "pods that are killed at a time, but none of the tiers front and media; 0 kills none")
	set.DurationVar(&c.KillEvery, "kill-every", d.KillEvery, "how often that is")
	set.IntVar(&c.Replicas, "replicas", d.Replicas, "pods of each tier")
	set.StringVar(&f.phases, "phases", "mix", "what is asked, over and over: read, compose, mix or rest, each with its duration, as in compose:20s,read:20s,mix:20s,rest:1m")
	set.Uint64Var(&c.Seed, "seed", 1, "seed of which pods are killed, the same for each scheduler")
	set.Float64Var(&c.MostLate, "most-late", d.MostLate, "share of the requests that may be sent more than 10 ms after they were due; a run with more is void")
	set.StringVar(&f.out, "out", "", "directory for the report: report.md with its picture, runs.json and tables as CSV; empty for none")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "compare on this kubeconfig's cluster; empty for slices of this machine")
	set.StringVar(&f.image, "image", "", "image of the program spazio-testapp, which --kubeconfig needs; empty without it")
	set.BoolVar(&f.replace, "replace", false, "remove first what an earlier comparison has left in the cluster (with --kubeconfig)")
	set.StringVarP(&f.output, "output", "o", "table", "what to print at the end: table or json")
}

// resolve turns flags into a configuration.
func (f *compareFlags) resolve(set *pflag.FlagSet) (compare.Config, error) {
	if err := valid(set, f.output, "runs", "duration", "warm-up", "rate", "kill-every", "replicas", "most-late"); err != nil {
		return f.config, err
	}
	if err := f.where(set); err != nil {
		return f.config, err
	}
	c := f.config
	for _, s := range c.Schedulers {
		if _, ok := profiles[s]; !ok && f.kubeconfig == "" {
			return c, fmt.Errorf("--schedulers: %q is none of %v", s, slices.Sorted(maps.Keys(profiles)))
		}
	}
	if err := c.Phases.UnmarshalText([]byte(f.phases)); err != nil {
		return c, fmt.Errorf("--phases: %w", err)
	}
	return c, nil
}

// where refuses flags that mean nothing where the comparison is made.
func (f *compareFlags) where(set *pflag.FlagSet) error {
	if f.kubeconfig != "" {
		if f.image == "" {
			return fmt.Errorf("--image: %w", errNoImage)
		}
		return nil
	}
	for _, name := range []string{"image", "replace"} {
		if set.Changed(name) {
			return fmt.Errorf("--%s means nothing without --kubeconfig", name)
		}
	}
	return nil
}

var errNoImage = errors.New("--kubeconfig takes one")

func (f *compareFlags) run(ctx context.Context, set *pflag.FlagSet, stdout, stderr io.Writer) error {
	c, err := f.resolve(set)
	if err != nil {
		return command.Usage(err)
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if f.kubeconfig != "" {
		return f.outcome(ctx, stdout, func() (compare.Report, error) { return f.cluster(ctx, c, stderr) })
	}
	return f.outcome(ctx, stdout, func() (compare.Report, error) { return compare.Embedded(ctx, c, progress(stderr)) })
}

// outcome prints the report of a comparison, and saves it.
func (f *compareFlags) outcome(ctx context.Context, stdout io.Writer, of func() (compare.Report, error)) error {
	r, err := of()
	switch {
	case ctx.Err() != nil:
		if errors.Is(err, compare.ErrLeft) {
			return fmt.Errorf("%w: %s", command.ErrInterrupted, command.OneLine(err))
		}
		return command.ErrInterrupted
	case err != nil && !errors.Is(err, compare.ErrVoid):
		return refused(err)
	}
	if f.out != "" {
		if err := r.Save(f.out); err != nil {
			return err
		}
	}
	if f.output == "json" {
		return errors.Join(text.JSON(stdout, r.Outcome()), err)
	}
	return errors.Join(r.WriteText(stdout, text.Terminal), err)
}
