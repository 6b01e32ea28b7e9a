// Command spazio shows Spazio at work on one machine.
package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
	"github.com/spazio-scheduler/spazio/cmd/internal/figures"
	"github.com/spazio-scheduler/spazio/cmd/internal/modelctl"
	"github.com/spazio-scheduler/spazio/cmd/internal/replay"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/cmd/internal/simulate"
	"github.com/spazio-scheduler/spazio/cmd/internal/topctl"
)

func main() { serve.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	// Kubernetes packages declare flags of their own programs, --version among
	// them, where cobra would take them for ours.
	pflag.CommandLine = pflag.NewFlagSet("spazio", pflag.ContinueOnError)
	root := &cobra.Command{
		Use:     "spazio",
		Short:   "Schedule pods by what their nodes measure",
		Version: version(),
	}
	root.AddCommand(demo.NewCommand(), demo.NewBurnCommand(), replay.NewCommand())
	root.AddCommand(modelctl.NewCommand(), simulate.NewCommand(), figures.NewCommand())
	root.AddCommand(topctl.NewTopCommand(), topctl.NewExplainCommand())
	return serve.Execute(ctx, root, args, stdout, stderr)
}
