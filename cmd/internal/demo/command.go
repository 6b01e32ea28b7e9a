package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	shared "github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/field"
)

const long = `Run a batch of pods on an embedded cluster, first placed by Spazio, then by the
default scheduler, and compare how the pods fared. Then run pods of four owners that
have little in common three times: Spazio knows nothing of them, Spazio has learnt
what they take, and the default scheduler places them. A pod that is killed for
memory is created anew, as the controller of Jobs does.

The cluster is real except for its nodes: etcd, kube-apiserver, kube-scheduler with
both profiles, the aggregator, the profiler, and an agent for each node run in this
process.
The simulated nodes share their cores among their pods. All pods are there before
the first is scheduled, under each profile, and time counts from then. If this
machine was too slow to compare them, it says so in the place of a verdict. Nothing is
installed, nothing listens beyond loopback, and nothing is left behind.

While it runs, kubectl works with the printed kubeconfig, and spazio top,
spazio explain and spazio web with the printed address; --web prints that of a
page to open in a browser. A pod of yours with schedulerName:
spazio is placed like those of the batch. With --keep, manifests of your own run:
Kubernetes' controllers and those of test beds are there, and all kinds of Spazio.`

// flags are the command line in its own units.
type flags struct {
	config  demoConfig
	options demoOptions
	unlike  bool
	output  string
}

// Main runs the program spazio-demo, and the children of a comparison.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	// Kubernetes packages declare flags of their own programs, --version among
	// them, where cobra would take them for ours.
	pflag.CommandLine = pflag.NewFlagSet("spazio-demo", pflag.ContinueOnError)
	initChildren()
	return command.Execute(ctx, NewCommand(), args, stdout, stderr)
}

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "spazio-demo",
		Short: "Compare Spazio with the default scheduler on an embedded cluster",
		Long:  long,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.bind(cmd.Flags())
	cmd.AddCommand(newCompare(), newTestbedCommand())
	return cmd
}

func (f *flags) bind(set *pflag.FlagSet) {
	c := demoConfig{}.withDefaults()
	set.IntVar(&f.config.Pods, "pods", c.Pods, "pods in the batch")
	set.Float64Var(&f.config.CPUSeconds, "cpu-seconds", c.CPUSeconds, "mean CPU time of a pod in seconds")
	set.IntVar(&f.config.Nodes, "nodes", c.Nodes, "simulated nodes")
	set.Uint64Var(&f.config.Seed, "seed", 1, "seed of the batch and the simulated nodes")
	set.Float64Var(&f.config.TimeScale, "time-scale", c.TimeScale, "virtual seconds in a second, for nodes and pods; the control plane's own delays grow with it")
	set.BoolVar(&f.unlike, "unlike", true, "after the batch, run pods of four unlike owners: under Spazio, again once their profiles are learnt, and under the default scheduler; not without spazio in --profiles")
	set.StringSliceVar(&f.config.Profiles, "profiles", c.Profiles, "what to run the batch under, in order: spazio and default-scheduler")
	set.BoolVar(&f.options.Keep, "keep", false, "after the table keep the cluster until Ctrl-C")
	set.StringVar(&f.options.Web, "web", "", "show the run on a page: --web at any free port of loopback, --web=HOST:PORT at that one; also after the table until Ctrl-C if there is a terminal")
	set.Lookup("web").NoOptDefVal = "127.0.0.1:0"
	set.StringVarP(&f.output, "output", "o", "table", "what to print at the end: table or json")
	set.StringVar(&f.options.Kubeconfig, "kubeconfig", "", "where to write the cluster's kubeconfig while it runs (default: in a temporary directory)")
}

func (f *flags) run(ctx context.Context, stdout, stderr io.Writer) error {
	c, err := f.resolve()
	if err != nil {
		return command.Usage(err)
	}
	f.options.Progress, f.options.OnResult = stderr, func(r demoResult) error { return f.write(stdout, r) }
	return shared.Refused(runDemo(ctx, c, f.options))
}

// resolve turns flags into a configuration. A zero on the command line is an
// error where the configuration would take it for the default.
func (f *flags) resolve() (demoConfig, error) {
	c := f.config
	switch {
	case f.output != "table" && f.output != "json":
		return demoConfig{}, unwanted("output", f.output, "table or json")
	case c.Pods == 0:
		return demoConfig{}, unwanted("pods", 0, "at least 1")
	case c.Nodes == 0:
		return demoConfig{}, unwanted("nodes", 0, "at least 1")
	case c.TimeScale == 0:
		return demoConfig{}, unwanted("time-scale", 0, "above 0")
	case c.CPUSeconds == 0:
		return demoConfig{}, unwanted("cpu-seconds", 0, "above 0")
	}
	c.NoUnlike = !f.unlike
	return c, flagged(c.validate())
}

// unwanted is the error of a flag's value.
func unwanted(flag string, value any, want string) error {
	return fmt.Errorf("--%s %v: want %s", flag, value, want)
}

// flagged names the flag of a field that was refused.
func flagged(err error) error {
	if bad := field.By(err, "demo"); bad != nil {
		return fmt.Errorf("--%s: %w", flagOf[bad.Field], err)
	}
	return err
}

// flagOf are the flags of the configuration's fields.
var flagOf = map[string]string{
	"Nodes": "nodes", "TimeScale": "time-scale", "Profiles": "profiles",
	"Pods": "pods", "CPUSeconds": "cpu-seconds",
}

func (f *flags) write(out io.Writer, r demoResult) error {
	if f.output == "table" {
		_, err := io.WriteString(out, r.table())
		return err
	}
	return encode(out, r)
}

// encode writes a result as JSON.
func encode(out io.Writer, result any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}
