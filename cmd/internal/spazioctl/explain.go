package spazioctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// explainOptions are the flags of spazio explain.
type explainOptions struct {
	scheduler scheduler
	choice    choice
	namespace string
	output    output
}

// newExplainCommand returns the command spazio explain.
func newExplainCommand() *cobra.Command {
	o := explainOptions{}
	c := &cobra.Command{
		Use:   "explain POD",
		Short: "Show where a pod could go, and why not elsewhere",
		Long: "spazio explain asks a scheduler about a pod, given by name, as NAMESPACE/NAME or\n" +
			"by UID. It shows what the last scheduling attempt saw; the pod's history, with its\n" +
			"attempts and why they failed; and for each node the room that it has now, the score, and\n" +
			"the reason if it would refuse the pod. Where nodes measure power, another table shows it.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), c.OutOrStdout(), args[0]) },
	}
	f := c.Flags()
	o.scheduler.flags(f)
	f.StringVarP(&o.namespace, "namespace", "n", "", "the pod's namespace, if POD does not name it (default the context's)")
	o.choice.flags(f)
	o.output.flags(f)
	return c
}

func (o *explainOptions) namespaceOf(at *podforward.Target) string {
	if at != nil && o.namespace == "" {
		return at.Namespace
	}
	return cmp.Or(o.namespace, "default")
}

// uid is the form of the API's UIDs.
var uid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (o *explainOptions) run(ctx context.Context, out io.Writer, pod string) error {
	if err := o.choice.parse(); err != nil {
		return err
	}
	if err := o.output.validate(); err != nil {
		return command.Usage(err)
	}
	scheduler, err := o.scheduler.open()
	if err != nil {
		return err
	}
	if !strings.Contains(pod, "/") && !uid.MatchString(pod) {
		pod = o.namespaceOf(scheduler.Target) + "/" + pod
	}
	e, err := podforward.Decode[plugin.Explanation](ctx, scheduler, plugin.DebugPath, url.Values{"pod": {pod}})
	// A StatusError is the scheduler's own answer; after any other error the API server may still know why
	// the pod waits.
	if answered := (*podforward.StatusError)(nil); err != nil && !errors.As(err, &answered) && ctx.Err() == nil {
		return fmt.Errorf("%w; kubectl describe pod shows the pod's conditions and events", err)
	}
	if err != nil {
		return err
	}
	if e.Nodes, err = o.choice.Verdicts(e.Nodes); err != nil {
		return err
	}
	if o.output.format == "json" {
		return encode(out, e, false)
	}
	if err := o.output.lines(out, page.ExplanationText(e)); err != nil {
		return err
	}
	if len(e.Steps) > 0 { // an older scheduler sends none
		if err := text.Table(page.StepTable(e)).WriteText(out, o.output.width()); err != nil {
			return err
		}
	}
	if !e.Ours {
		return nil
	}
	if err := text.Table(page.VerdictTable(e)).Compact("-", "TAKES").WriteText(out, o.output.width()); err != nil {
		return err
	}
	if t := page.VerdictEnergyTable(e); t.Rows != nil {
		return text.Table(t).WriteText(out, o.output.width())
	}
	return nil
}
