package spazioctl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/debugsource"
	"github.com/spazio-scheduler/spazio/plugin"
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
			"room, the score, and the reason if it would refuse the pod.",
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
	e, err := debugsource.Ask[plugin.Explanation](ctx, scheduler, plugin.DebugPath, url.Values{"pod": {pod}})
	if err != nil {
		return err
	}
	e.Nodes = o.choose(e.Nodes, matching)
	if o.output == "json" {
		return encode(out, e, false)
	}
	describe(out, e)
	return write(out, explainColumns, e.Nodes)
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

// describe says in words what is known of the pod.
func describe(out io.Writer, e plugin.Explanation) {
	fmt.Fprintf(out, "pod %s (%s) of profile %s is %s", e.Pod, e.UID, orNone(e.Profile), e.State)
	if e.Node != "" {
		fmt.Fprintf(out, " on node %s", e.Node)
	}
	fmt.Fprintln(out)
	if !e.Ours {
		fmt.Fprintln(out, "the scheduler does not serve this profile with the plugin; scores are those of a pod of the default options")
	}
	describeWorkload(out, e.Workload)
	describeWait(out, e)
	describeAttempt(out, e.Attempt)
	if e.Unscheduled != "" {
		fmt.Fprintf(out, "the scheduler, of all its plugins: %s\n", e.Unscheduled)
	}
}

// describeWorkload tells what is known of what the pod takes.
func describeWorkload(out io.Writer, w *plugin.WorkloadState) {
	switch {
	case w == nil:
	case w.Source == "profile":
		fmt.Fprintf(out, "its workload %s takes %.3g ± %.2g cores (confidence %.2g) and %.3g ± %.2g GiB (%.2g); profiles are but observed: what they would decide otherwise is in brackets\n",
			w.Workload, w.CPU.Amount, w.CPU.SD, w.CPU.Confidence, w.Memory.Amount/gib, w.Memory.SD/gib, w.Memory.Confidence)
	default:
		fmt.Fprintf(out, "its workload is %s, of which nothing is known (%s): it counts as a typical pod\n", w.Workload, w.Source)
	}
}

const gib = 1 << 30

// verdict adds what profiles would decide, where that is something else.
func verdict(n plugin.NodeVerdict) string {
	if n.ByProfile == "" || n.ByProfile == n.Reason {
		return n.Reason
	}
	return n.Reason + " (" + n.ByProfile + ")"
}

// describeWait tells of a pod that waits for measured room, or did for too long.
func describeWait(out io.Writer, e plugin.Explanation) {
	switch {
	case e.OverdueSince != nil:
		fmt.Fprintf(out, "it has waited for measured room since %s and is overdue since %s: a node without room may take it where memory is not full\n",
			e.RoomSince.Format(time.RFC3339), e.OverdueSince.Format(time.RFC3339))
	case e.RoomSince != nil:
		fmt.Fprintf(out, "it has waited for measured room since %s\n", e.RoomSince.Format(time.RFC3339))
	case e.Overdue:
		fmt.Fprintln(out, "it was overdue: its node took it without measured room")
	}
}

func describeAttempt(out io.Writer, a *plugin.Attempt) {
	if a == nil {
		fmt.Fprintln(out, "no scheduling attempt is remembered")
		return
	}
	fmt.Fprintf(out, "last attempt at %s: %d of %s had room", a.At.Format(time.RFC3339), a.WithRoom, plural(a.Nodes, "node"))
	for _, r := range a.Refusals {
		fmt.Fprintf(out, ", %d %s", r.Nodes, r.Message)
	}
	fmt.Fprintln(out)
	if a.Reserved != "" {
		fmt.Fprintf(out, "reserved on %s, which had %.1f available and %.1f in flight\n", a.Reserved, a.Avail, a.InFlight)
	}
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
	{title: "VERDICT", cell: verdict},
	{title: "SHORTEST", cell: func(n plugin.NodeVerdict) string { return orNone(n.Limiting) }},
	{title: "CHANNELS", cell: func(n plugin.NodeVerdict) string { return orNone(channels(n.Channels)) }},
	{title: "DOUBTS", cell: func(n plugin.NodeVerdict) string { return doubts(n.Flags) }},
}
