package spazioctl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/podforward"
	"github.com/spazio-scheduler/spazio/report/table"
)

// topOptions are the flags of spazio top.
type topOptions struct {
	scheduler scheduler
	sort      string
	node      string
	limiting  string
	limit     int
	energy    bool
	display   display
}

// orders are the values of --sort.
var orders = map[string]func(a, b plugin.NodeState) int{
	"name":     func(a, b plugin.NodeState) int { return 0 },
	"avail":    func(a, b plugin.NodeState) int { return cmp.Compare(b.Avail, a.Avail) },
	"free":     func(a, b plugin.NodeState) int { return cmp.Compare(b.Free, a.Free) },
	"inflight": func(a, b plugin.NodeState) int { return cmp.Compare(b.InFlight, a.InFlight) },
	"age":      func(a, b plugin.NodeState) int { return cmp.Compare(silence(b), silence(a)) },
}

// silence is how long a node has not reported.
func silence(n plugin.NodeState) time.Duration {
	if n.Signal == "missing" {
		return math.MaxInt64
	}
	return n.Age
}

// newTopCommand returns the command spazio top.
func newTopCommand() *cobra.Command {
	o := topOptions{}
	c := &cobra.Command{
		Use:   "top",
		Short: "Print the nodes as the scheduler sees them",
		Long: "spazio top asks a scheduler for its nodes: what each reports as available, what\n" +
			"is in flight to it, what is left, and why it takes no pod if it takes none.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	o.scheduler.flags(f)
	f.StringVar(&o.sort, "sort", "free", "order of the nodes: avail, free, inflight, age (largest first) or name")
	f.StringVar(&o.node, "node", "", "show only nodes whose name matches this regular expression")
	f.StringVar(&o.limiting, "limiting", "", "show only nodes whose shortest resource is this, such as cpu")
	f.IntVar(&o.limit, "limit", 0, "show at most so many nodes; 0 shows all")
	f.BoolVar(&o.energy, "energy", false, "show what power the nodes take, and their workloads, instead")
	o.display.flags(f)
	return c
}

func (o *topOptions) validate() error {
	switch {
	case orders[o.sort] == nil:
		return fmt.Errorf("--sort: %q is none of avail, free, inflight, age, name", o.sort)
	case o.limit < 0:
		return fmt.Errorf("--limit: %w", errNegative)
	}
	return o.display.validate()
}

func (o *topOptions) run(ctx context.Context, out, errs io.Writer) error {
	if err := o.validate(); err != nil {
		return command.Usage(err)
	}
	matching, err := regexp.Compile(o.node)
	if err != nil {
		return command.Usage(fmt.Errorf("--node: %w", err))
	}
	scheduler, err := o.scheduler.open()
	if err != nil {
		return err
	}
	show := showStatus
	if o.energy {
		show = showEnergy
	}
	return repeat(ctx, o.display, out, errs, func() (plugin.Status, error) {
		status, err := podforward.Decode[plugin.Status](ctx, scheduler, plugin.DebugPath, nil)
		status.Nodes = o.choose(status.Nodes, matching)
		return status, err
	}, show)
}

// choose returns the nodes to show, in order.
func (o *topOptions) choose(nodes []plugin.NodeState, matching *regexp.Regexp) []plugin.NodeState {
	nodes = slices.DeleteFunc(nodes, func(n plugin.NodeState) bool {
		return !matching.MatchString(n.Node) || o.limiting != "" && n.Limiting != o.limiting
	})
	slices.SortFunc(nodes, func(a, b plugin.NodeState) int {
		return cmp.Or(orders[o.sort](a, b), strings.Compare(a.Node, b.Node))
	})
	if o.limit > 0 && len(nodes) > o.limit {
		nodes = nodes[:o.limit]
	}
	return nodes
}

var topColumns = []column[plugin.NodeState]{
	{title: "NODE", cell: func(n plugin.NodeState) string { return n.Node }},
	{title: "SIGNAL", cell: func(n plugin.NodeState) string { return n.Signal }},
	{title: "AGE", number: true, cell: age},
	{title: "AVAIL", number: true, cell: func(n plugin.NodeState) string { return known(n, n.Avail) }},
	{title: "INFLIGHT", number: true, cell: func(n plugin.NodeState) string { return fmt.Sprintf("%.1f", n.InFlight) }},
	{title: "FREE", number: true, cell: func(n plugin.NodeState) string { return known(n, n.Free) }},
	{title: "SLOTS", number: true, cell: slots},
	{title: "CORES", number: true, optional: true, cell: func(n plugin.NodeState) string { return left(n.Cores, 1) }},
	{title: "GIB", number: true, optional: true, cell: func(n plugin.NodeState) string { return left(n.Bytes, gib) }},
	{title: "PODS", number: true, cell: count},
	{title: "K", number: true, cell: func(n plugin.NodeState) string { return known(n, n.K) }},
	{title: "SHORTEST", cell: func(n plugin.NodeState) string { return orNone(n.Limiting) }},
	{title: "VERDICT", cell: func(n plugin.NodeState) string { return n.Reason }},
	{title: "DOUBTS", cell: func(n plugin.NodeState) string { return doubts(n.Flags) }},
}

func showStatus(out io.Writer, s plugin.Status) error {
	l := s.Ledger
	fmt.Fprintf(out, "%s; %s waiting, %d in flight (%d assumed, %d bound), %d counted\n",
		plural(len(s.Nodes), "node"), plural(s.Waiting, "pod"), l.Assumed+l.Bound, l.Assumed, l.Bound, l.Absorbed)
	return write(out, topColumns, s.Nodes)
}

func showEnergy(out io.Writer, s plugin.Status) error {
	if err := table.Table(plugin.EnergyTable(s.Nodes)).WriteText(out, table.Terminal); err != nil {
		return err
	}
	return table.Table(s.Energy.WorkloadTable()).WriteText(out, table.Terminal)
}

const gib = 1 << 30

// left formats what is left for pods that are known, in a unit.
func left(amount *float64, unit float64) string {
	if amount == nil {
		return none
	}
	return fmt.Sprintf("%.1f", *amount/unit)
}
