package testbeds

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

const long = `Run a scheduler from outside the cluster: a program that knows nothing but the
interface /external/v1 learns which jobs get on well beside each other, and puts
them together accordingly.

The cluster is real but for its nodes: etcd, kube-apiserver with RBAC, the
controllers of Jobs, kube-scheduler with the profile of slots, spazio-testbed and
its interface. There are two Testbeds: on a node of one core the program tries
each pair of jobs, half of which are bound by the CPU; on the others it carries
out the plan. Nothing listens beyond loopback, and nothing is left behind.`

// NewCommand returns the command testbed; interrupted is its error where it was cut short.
func NewCommand(interrupted error) *cobra.Command {
	c := Config{Jobs: 3, Alone: 10 * time.Second, Samples: 1, Seed: 1}
	plan, output := "exact", "table"
	cmd := &cobra.Command{
		Use:   "testbed",
		Short: "Learn which jobs to put together, by the interface for outside schedulers",
		Long:  long,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case c.Jobs < 1 || 2*c.Jobs > colocate.MostExact:
				return command.Usage(fmt.Errorf("--jobs %d: must be 1 to %d", c.Jobs, colocate.MostExact/2))
			case c.Alone < time.Second:
				return command.Usage(fmt.Errorf("--seconds %v: must be at least 1s, the interface tells times in whole seconds", c.Alone))
			case c.Samples < 1:
				return command.Usage(fmt.Errorf("--samples %d: must be at least 1", c.Samples))
			case plan != "exact" && plan != "greedy":
				return command.Usage(fmt.Errorf("--plan %s: must be exact or greedy", plan))
			case output != "table" && output != "json":
				return command.Usage(fmt.Errorf("--output %s: must be table or json", output))
			}
			c.Greedy, c.Progress = plan == "greedy", cmd.ErrOrStderr()
			c.OnResult = func(r Result) error {
				if output == "table" {
					return r.WriteText(cmd.OutOrStdout())
				}
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(r)
			}
			err := Run(cmd.Context(), c)
			if err != nil && context.Cause(cmd.Context()) != nil {
				return interrupted
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&c.Jobs, "jobs", c.Jobs, "jobs of each kind, bound by the CPU and mostly waiting; also the nodes that they run on at the end")
	flags.DurationVar(&c.Alone, "seconds", c.Alone, "about how long a job takes alone")
	flags.IntVar(&c.Samples, "samples", c.Samples, "how many times each pair is tried")
	flags.StringVar(&plan, "plan", plan, "which pairing to carry out: exact, of all the one that is done first, or greedy, each job in turn with the best that is left")
	flags.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the jobs and the nodes")
	flags.BoolVar(&c.Keep, "keep", false, "after the result keep the cluster until Ctrl-C")
	flags.StringVarP(&output, "output", "o", output, "what to print at the end: table or json")
	return cmd
}
