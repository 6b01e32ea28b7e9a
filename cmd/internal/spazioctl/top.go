package spazioctl

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/sim/report/live"
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
			"With --watch on a terminal it is a view that keeps its place: arrows and pages hold a\n" +
			"row, left and right choose the column that is sorted by, r reverses that, / keeps the\n" +
			"rows with a text, Enter shows why a node is as it is and which pods are on it, Tab goes\n" +
			"to the next table, Esc goes back, q quits. Elsewhere it prints each time anew.",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	o.scheduler.flags(f)
	o.choice.flags(f)
	f.StringVar((*string)(&o.choice.Order), "sort", string(page.ByFree), "order of the nodes: avail, free, inflight, age (largest first) or name")
	f.BoolVar(&o.energy, "energy", false, "show what power the nodes take, and their workloads, instead")
	o.display.flags(f)
	return c
}

func (o *topOptions) run(ctx context.Context, in io.Reader, out, errs io.Writer) error {
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
	top.detail = func(ctx context.Context, sheet int, row string) (string, error) {
		if sheet != 0 {
			return row, nil // a workload: the table shows all of it
		}
		e, err := podforward.Decode[plugin.NodeExplanation](ctx, scheduler, plugin.DebugPath, url.Values{"node": {row}})
		if err != nil {
			return "", err
		}
		var words strings.Builder
		fmt.Fprintln(&words, strings.Join(page.Explain(e.NodeState, time.Now()), "\n")+"\n")
		err = text.Table(page.PodTable(e)).WriteText(&words, 0)
		return words.String(), err
	}
	return top.run(ctx, o.display, in, out, errs)
}

func statusSight(s plugin.Status) sight {
	nodes := text.Table(page.StatusTable(s)).Compact("-", "CORES", "GIB")
	return sight{page.StatusText(s), []live.Sheet{{Name: "nodes", Table: nodes}}}
}

func energySight(s plugin.Status) sight {
	return sight{sheets: []live.Sheet{
		{Name: "nodes", Table: text.Table(page.EnergyTable(s.Nodes))},
		{Name: "workloads", Table: text.Table(page.WorkloadTable(s.Energy))},
	}}
}
