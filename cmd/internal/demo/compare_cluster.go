package demo

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// cluster compares on the kubeconfig's.
func (f *compareFlags) cluster(ctx context.Context, c compare.Config, stderr io.Writer) (compare.Report, error) {
	at, err := podforward.Cluster(f.kubeconfig, "")
	if err != nil {
		return compare.Report{}, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	return compare.Cluster(ctx, compare.ClusterConfig{Config: c, Rest: at.Config, Image: f.image, Replace: f.replace}, progress(stderr))
}

// newRole returns the command compare role.
func newRole() *cobra.Command {
	return &cobra.Command{
		Use: "role", Short: "Print the ClusterRole that a comparison on a cluster takes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := yaml.Marshal(compare.Role())
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
