package spazioctl

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// topOptions are the flags of spazio top.
type topOptions struct {
	scheduler scheduler
	choice    choice
	energy    bool
	display   display
}

// choice are the flags that say which nodes are shown.
type choice struct {
	page.Choice
	name string
}

func (c *choice) flags(f *pflag.FlagSet) {
	f.StringVar(&c.name, "node", "", "show only nodes whose name matches this regular expression")
	f.IntVar(&c.Limit, "limit", 0, "show at most so many nodes; 0 shows all")
}

// choiceFlags are the flags of the fields.
var choiceFlags = map[string]string{"Order": "sort", "Limit": "limit"}

// parse completes the choice. Its error is one of usage.
func (c *choice) parse() (err error) {
	if c.Name, err = regexp.Compile(c.name); err != nil {
		return command.Usage(fmt.Errorf("--node: %w", err))
	}
	err = c.Validate()
	if bad := field.By(err, "page"); bad != nil {
		err = fmt.Errorf("--%s: %w", choiceFlags[bad.Field], err)
	}
	return command.Usage(err)
}

// newTopCommand returns the command spazio top.
func newTopCommand() *cobra.Command {
	o := topOptions{}
	c := &cobra.Command{
		Use:   "top",
		Short: "Print the nodes as the scheduler sees them",
		Long: "spazio top asks a scheduler for its nodes: what each reports as available, what\n" +
			"is in flight to it, what is left, and why it takes no pod if it takes none.\n\n" +
			"With --watch on a terminal the table is drawn anew in its place, as far as it fits;\n" +
			"--sort, --node and --limit choose its rows. Elsewhere it is printed each time.",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	o.scheduler.flags(f)
	o.choice.flags(f)
	orders := page.Orders()
	last := len(orders) - 1
	f.StringVar(&o.choice.Order, "sort", page.ByFree, "order of the nodes: "+strings.Join(orders[:last], ", ")+" (largest first) or "+orders[last])
	f.BoolVar(&o.energy, "energy", false, "show what power the nodes take, and their workloads, instead")
	o.display.flags(f)
	return c
}

func (o *topOptions) run(ctx context.Context, out, errs io.Writer) error {
	if err := o.choice.parse(); err != nil {
		return err
	}
	if err := o.display.validate(); err != nil {
		return command.Usage(err)
	}
	scheduler, err := o.scheduler.open()
	if err != nil {
		return err
	}
	top := shown[plugin.Status]{sight: statusSight}
	if o.energy {
		top.sight = energySight
	}
	top.ask = func(ctx context.Context) (plugin.Status, error) {
		status, err := podforward.Decode[plugin.Status](ctx, scheduler, plugin.DebugPath, nil)
		if err != nil {
			return status, err
		}
		status.Nodes, err = o.choice.States(status.Nodes)
		return status, err
	}
	return top.run(ctx, o.display, out, errs)
}

func statusSight(s plugin.Status) sight {
	nodes := text.Table(page.StatusTable(s)).Compact("-", "CORES", "GIB")
	return sight{page.StatusText(s), []text.Table{nodes}}
}

func energySight(s plugin.Status) sight {
	return sight{tables: []text.Table{text.Table(page.EnergyTable(s.Nodes)), text.Table(page.WorkloadTable(s.Energy))}}
}
