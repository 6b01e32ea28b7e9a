package spazioctl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/podforward"
	"github.com/spazio-scheduler/spazio/report/table"
)

// explainOptions are the flags of spazio explain.
type explainOptions struct {
	scheduler scheduler
	namespace string
	node      string
	limit     int
	output    string
}

// newExplainCommand returns the command spazio explain.
func newExplainCommand() *cobra.Command {
	o := explainOptions{}
	c := &cobra.Command{
		Use:   "explain POD",
		Short: "Say where a pod could go, and why not elsewhere",
		Long: "spazio explain asks a scheduler about a pod, given by name, as NAMESPACE/NAME or\n" +
			"by UID: what its last scheduling attempt saw, and of each node as it is now the\n" +
			"room, the score, and the reason if it would refuse the pod. Where nodes tell their\n" +
			"power, a second table shows it.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), c.OutOrStdout(), args[0]) },
	}
	f := c.Flags()
	o.scheduler.flags(f)
	f.StringVarP(&o.namespace, "namespace", "n", "default", "the pod's namespace, if POD does not say")
	f.StringVar(&o.node, "node", "", "show only nodes whose name matches this regular expression")
	f.IntVar(&o.limit, "limit", 0, "show at most so many nodes; 0 shows all")
	outputFlag(f, &o.output)
	return c
}

// uid is the form of the API's UIDs.
var uid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (o *explainOptions) run(ctx context.Context, out io.Writer, pod string) error {
	if o.limit < 0 {
		return command.Usage(fmt.Errorf("--limit: %w", errNegative))
	}
	if err := checkOutput(o.output); err != nil {
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
	if !strings.Contains(pod, "/") && !uid.MatchString(pod) {
		pod = o.namespace + "/" + pod
	}
	e, err := podforward.Decode[plugin.Explanation](ctx, scheduler, plugin.DebugPath, url.Values{"pod": {pod}})
	if err != nil {
		return err
	}
	e.Nodes = o.choose(e.Nodes, matching)
	if o.output == "json" {
		return encode(out, e, false)
	}
	if _, err := fmt.Fprintln(out, e.Text()); err != nil {
		return err
	}
	if err := write(out, explainColumns, e.Nodes); err != nil {
		return err
	}
	if t := e.EnergyTable(); t.Rows != nil {
		return table.Table(t).WriteText(out, table.Terminal)
	}
	return nil
}

// choose returns the nodes to show: those that admit the pod first, best first.
func (o *explainOptions) choose(nodes []plugin.NodeVerdict, matching *regexp.Regexp) []plugin.NodeVerdict {
	nodes = slices.DeleteFunc(nodes, func(n plugin.NodeVerdict) bool { return !matching.MatchString(n.Node) })
	score := func(n plugin.NodeVerdict) int64 {
		if n.Score == nil {
			return -1
		}
		return *n.Score
	}
	slices.SortFunc(nodes, func(a, b plugin.NodeVerdict) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(b.Free, a.Free), strings.Compare(a.Node, b.Node))
	})
	if o.limit > 0 && len(nodes) > o.limit {
		nodes = nodes[:o.limit]
	}
	return nodes
}

var explainColumns = []column[plugin.NodeVerdict]{
	{title: "NODE", cell: func(n plugin.NodeVerdict) string { return n.Node }},
	{title: "SCORE", number: true, cell: func(n plugin.NodeVerdict) string {
		if n.Score == nil {
			return none
		}
		return strconv.FormatInt(*n.Score, 10)
	}},
	{title: "AVAIL", number: true, cell: func(n plugin.NodeVerdict) string { return known(n.NodeState, n.Avail) }},
	{title: "INFLIGHT", number: true, cell: func(n plugin.NodeVerdict) string { return fmt.Sprintf("%.1f", n.InFlight) }},
	{title: "FREE", number: true, cell: func(n plugin.NodeVerdict) string { return known(n.NodeState, n.Free) }},
	{title: "AGE", number: true, cell: func(n plugin.NodeVerdict) string { return age(n.NodeState) }},
	{title: "VERDICT", cell: plugin.NodeVerdict.Verdict},
	{title: "TAKES", optional: true, cell: takes},
	{title: "SHORTEST", cell: func(n plugin.NodeVerdict) string { return orNone(n.Limiting) }},
	{title: "CHANNELS", cell: func(n plugin.NodeVerdict) string { return orNone(channels(n.Channels)) }},
	{title: "DOUBTS", cell: func(n plugin.NodeVerdict) string { return doubts(n.Flags) }},
}

// takes is what a known pod takes of a node in typical pods, first of the resource that
// has the least left.
func takes(n plugin.NodeVerdict) string {
	resources := slices.Sorted(maps.Keys(n.Takes))
	slices.SortStableFunc(resources, func(a, b string) int {
		switch n.Binding {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	parts := make([]string, len(resources))
	for i, r := range resources {
		parts[i] = fmt.Sprintf("%s %.2g", r, n.Takes[r])
	}
	return orNone(strings.Join(parts, ", "))
}
