// Package spazioctl is the program that operators use, under the name spazio
// and, as a plugin of kubectl, kubectl-spazio. Its commands ask a scheduler how it
// sees the nodes and why a pod is where it is or waits, a node's agent for the
// reasons of its last report, and an aggregator for the fleet's models, all by
// package podforward; others show the profiles of workloads and the slots of test beds,
// and install Spazio, look after it and remove it, by package deploy. One rewrites
// manifests. It builds without k8s.io/kubernetes.
package spazioctl

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// Main runs the program as spazio.
var Main = command.Program(func() *cobra.Command { return NewCommand("spazio", "spazio") })

// PluginMain runs it as kubectl runs the file kubectl-spazio.
var PluginMain = command.Program(func() *cobra.Command { return NewCommand("kubectl-spazio", "kubectl spazio") })

// called is the program as its user calls it, for hints.
var called = "spazio"

// NewCommand returns the program under its file's name; shown is how it is
// called.
func NewCommand(name, shown string) *cobra.Command {
	// Kubernetes packages declare flags of their own programs, --version among
	// them, where cobra would take them for ours.
	pflag.CommandLine, called = pflag.NewFlagSet(name, pflag.ContinueOnError), shown
	root := &cobra.Command{
		Use:         name,
		Short:       "Install Spazio in a cluster, and show what it knows of it",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: shown},
	}
	root.AddCommand(newTopCommand(), newExplainCommand(), newWebCommand(), newWhyCommand(), newModelCommand(), newInstallCommand(), newCheckCommand(), newUninstallCommand(), newProfileCommand(), newReportCommand(), newSlotsCommand(), newConvertCommand())
	return root
}
