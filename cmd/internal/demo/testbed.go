package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
)

const testbedLong = `Run a scheduler from outside the cluster: a program that knows only the
interface /external/v1 learns which jobs get on well beside each other, and puts
them together accordingly.

The cluster is real except for its nodes: etcd, kube-apiserver with RBAC, the
controllers of Jobs, kube-scheduler with the profile of slots, spazio-testbed and
its interface. There are two Testbeds: on a node of one core the program tries
each pair of jobs, half of which are bound by the CPU; on the others it carries
out the plan. Nothing listens beyond loopback, and nothing is left behind.`

// newTestbedCommand returns the command testbed.
func newTestbedCommand() *cobra.Command {
	c := testbedConfig{Seed: 1}.withDefaults()
	plan, output := "exact", "table"
	cmd := &cobra.Command{
		Use:   "testbed",
		Short: "Learn which jobs to put together, by the interface for outside schedulers",
		Long:  testbedLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case c.Jobs == 0 || c.Alone == 0: // which a testbedConfig takes for the default
				return command.Usage(errors.New("--jobs and --seconds must be above 0"))
			case plan != "exact" && plan != "greedy":
				return command.Usage(unwanted("plan", plan, "exact or greedy"))
			case output != "table" && output != "json":
				return command.Usage(unwanted("output", output, "table or json"))
			}
			c.Greedy, c.Progress = plan == "greedy", cmd.ErrOrStderr()
			c.OnResult = func(r testbedResult) error {
				if output == "table" {
					return r.writeText(cmd.OutOrStdout())
				}
				return encode(cmd.OutOrStdout(), r)
			}
			err := runTestbed(cmd.Context(), c)
			refused := field.By(err, "demo")
			switch {
			case refused != nil:
				return command.Usage(fmt.Errorf("--%s: %w", map[string]string{"Jobs": "jobs", "Alone": "seconds"}[refused.Field], err))
			case err != nil && context.Cause(cmd.Context()) != nil:
				return command.ErrInterrupted
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&c.Jobs, "jobs", c.Jobs, "jobs of each kind, bound by the CPU and mostly waiting; also the nodes that they run on at the end")
	flags.DurationVar(&c.Alone, "seconds", c.Alone, "about how long a job takes alone")
	flags.StringVar(&plan, "plan", plan, "which pairing to carry out: exact, of all the one that is done first, or greedy, each job in turn with the best that is left")
	flags.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the jobs and the nodes")
	flags.BoolVar(&c.Keep, "keep", false, "after the result keep the cluster until Ctrl-C")
	flags.StringVarP(&output, "output", "o", output, "what to print at the end: table or json")
	return cmd
}
