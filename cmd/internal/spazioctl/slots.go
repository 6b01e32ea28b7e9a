package spazioctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/view"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// slotsOptions are the flags of spazio slots.
type slotsOptions struct {
	reading
	output output
}

// newSlotsCommand returns the command spazio slots.
func newSlotsCommand() *cobra.Command {
	o := slotsOptions{}
	c := &cobra.Command{
		Use:   "slots TESTBED",
		Short: "Show what is in each slot of a test bed",
		Long: "spazio slots reads a Testbed and the pods in its slots from the API server. Slots are\n" +
			"numbered as Schedulings name them; each is free, reserved (claimed, its pod has not come),\n" +
			"occupied, pending (nothing holds its resources) or retiring (it goes when it is empty).",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), c.OutOrStdout(), args[0]) },
	}
	f := c.Flags()
	o.flags(f, "namespace of the test bed (default the context's)")
	o.output.flags(f)
	return c
}

func (o *slotsOptions) run(ctx context.Context, out io.Writer, name string) error {
	if err := o.output.validate(); err != nil {
		return command.Usage(err)
	}
	at, err := o.cluster()
	if err != nil {
		return err
	}
	client, err := view.NewClient(at.Config)
	if err != nil {
		return command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	bed, pods, err := client.Snapshot(ctx, o.namespace, name)
	switch {
	case errors.Is(err, view.ErrNotInstalled):
		return fmt.Errorf("%w: %s install --component testbed", err, called)
	case errors.Is(err, view.ErrNotFound):
		return fmt.Errorf("%w; --namespace names another namespace", err)
	case err != nil:
		return err
	}
	slots, err := view.Slots(bed, pods)
	if err != nil {
		return err
	}
	if o.output.format == "json" {
		return encode(out, slots, false)
	}
	return o.show(out, bed, slots)
}

// show prints what is in each slot, and where some are missing.
func (o *slotsOptions) show(out io.Writer, bed *v1alpha1.Testbed, slots []wire.Slot) error {
	if err := text.Table(view.SlotTable(bed, slots)).WriteText(out, o.output.width()); err != nil {
		return err
	}
	for _, n := range bed.Status.Nodes {
		if n.Slots != n.Wanted {
			words := fmt.Sprintf("%s has %d of %s: %s", n.Name, n.Slots, text.Count(int(n.Wanted), "slot"), cmp.Or(n.Reason, "no reason is given"))
			if err := o.output.lines(out, words); err != nil {
				return err
			}
		}
	}
	return nil
}
