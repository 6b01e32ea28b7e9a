package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/schedulers"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// cluster compares on the kubeconfig's.
func (f *compareFlags) cluster(ctx context.Context, c compare.Config, stderr io.Writer) (schedulers.Report, error) {
	at, err := podforward.Cluster(f.kubeconfig, f.context)
	if err != nil {
		return schedulers.Report{}, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
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

// repeated makes comparisons on one control plane and counts their verdicts.
func (f *compareFlags) repeated(ctx context.Context, c compare.Config, stdout, stderr io.Writer) error {
	var all schedulers.Repeats
	err := compare.Repeated(ctx, c, f.repeat, progress(stderr), func(r schedulers.Report, err error) error {
		if err != nil {
			fmt.Fprintln(stderr, err)
		}
		fmt.Fprintln(stderr, r.Words())
		all.Add(r)
		if f.out == "" {
			return nil
		}
		dir := filepath.Join(f.out, strconv.Itoa(len(all.Comparisons)))
		return errors.Join(os.MkdirAll(dir, 0o755), r.Save(dir))
	})
	switch {
	case ctx.Err() != nil:
		return command.ErrInterrupted
	case err != nil:
		return refused(err)
	case f.output == "json":
		return writeJSON(stdout, all)
	}
	return all.Table().WriteText(stdout, text.Terminal)
}
