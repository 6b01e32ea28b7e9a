package spazioctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/debugsource"
	"github.com/spazio-scheduler/spazio/podforward"
	"github.com/spazio-scheduler/spazio/report/table"
	"github.com/spazio-scheduler/spazio/report/text"
)

// whyPath is where an agent explains its last report.
const whyPath = "/debug/why"

// whyOptions are the flags of spazio why.
type whyOptions struct {
	source   debugsource.Source
	selector string
	output   string
}

// newWhyCommand returns the command spazio why.
func newWhyCommand() *cobra.Command {
	o := whyOptions{}
	c := &cobra.Command{
		Use:   "why [NODE]",
		Short: "Say why a node reports the room that it reports",
		Long: "spazio why asks a node's agent for the reasons of its last report: the agent of\n" +
			"this machine, or with --kubeconfig or --context that of NODE.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), c.OutOrStdout(), args) },
	}
	f := c.Flags()
	o.source.Flags(f, "agent", "spazio-agent", 9691)
	f.StringVar(&o.selector, "agent-selector", "app.kubernetes.io/name=spazio-agent", "labels of the agents' pods"+debugsource.Remotely)
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	return c
}

var errWhichNode = errors.New("NODE is given with --kubeconfig or --context, and only then")

func (o *whyOptions) run(ctx context.Context, out io.Writer, nodes []string) error {
	if o.output != "text" && o.output != "json" {
		return command.Usage(fmt.Errorf("--output: %q is neither text nor json", o.output))
	}
	if o.source.Remote() != (len(nodes) == 1) {
		return command.Usage(errWhichNode)
	}
	agent, err := o.source.Open(podforward.Selected(o.selector, strings.Join(nodes, "")))
	if err != nil {
		return err
	}
	said, err := agent.Get(ctx, whyPath, url.Values{"format": {o.output}})
	if err != nil {
		return err
	}
	if o.output == "text" {
		said = []byte(text.Fold(string(said), table.Terminal))
	}
	_, err = out.Write(said)
	return err
}
