// Package spazioctl is the program that operators use, under the name spazio
// and, as a plugin of kubectl, kubectl-spazio. It builds without
// k8s.io/kubernetes.
package spazioctl

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/modelctl"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/cmd/internal/topctl"
)

// Main runs the program as spazio.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return serve.Execute(ctx, newCommand("spazio", "spazio"), args, stdout, stderr)
}

// PluginMain runs it as kubectl runs the file kubectl-spazio.
func PluginMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return serve.Execute(ctx, newCommand("kubectl-spazio", "kubectl spazio"), args, stdout, stderr)
}

// newCommand returns the program under its file's name; shown is how it is
// called.
func newCommand(name, shown string) *cobra.Command {
	// Kubernetes packages declare flags of their own programs, --version among
	// them, where cobra would take them for ours.
	pflag.CommandLine = pflag.NewFlagSet(name, pflag.ContinueOnError)
	root := &cobra.Command{
		Use:         name,
		Short:       "Show what Spazio knows of a cluster",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: shown},
		Version:     serve.Version(),
	}
	root.AddCommand(topctl.NewTopCommand(), topctl.NewExplainCommand(), topctl.NewWhyCommand(), modelctl.NewCommand())
	return root
}
