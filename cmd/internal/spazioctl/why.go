package spazioctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// whyPath is where an agent explains its last report.
const whyPath = "/debug/why"

// whyOptions are the flags of spazio why.
type whyOptions struct {
	source debugSource
	output string
}

// newWhyCommand returns the command spazio why.
func newWhyCommand() *cobra.Command {
	o := whyOptions{}
	c := &cobra.Command{
		Use:   "why [NODE]",
		Short: "Show why a node reports the room that it reports",
		Long: "spazio why shows the reasons of an agent's last report. With NODE it asks that node's agent\n" +
			"through the API server, without NODE the agent at --url, by default this machine's.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), c.OutOrStdout(), args) },
	}
	f := c.Flags()
	o.source.bind(f, "agent", "spazio-agent")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	return c
}

var (
	errNoNode  = errors.New("NODE is missing: with --kubeconfig or --context, name the node whose agent to ask")
	errTwoWays = errors.New("cannot be combined with NODE, whose agent is asked through the API server")
)

func (o *whyOptions) run(ctx context.Context, out io.Writer, nodes []string) error {
	if o.output != "text" && o.output != "json" {
		return command.Usage(fmt.Errorf("--output: %q is neither text nor json", o.output))
	}
	switch named := o.source.Kubeconfig != "" || o.source.Context != ""; {
	case len(nodes) == 0 && named:
		return command.Usage(errNoNode)
	case len(nodes) == 1 && o.source.URL != "":
		return command.Usage(fmt.Errorf("--url: %w", errTwoWays))
	case len(nodes) == 0 && o.source.URL == "":
		o.source.URL = loopback(o.source.port)
	}
	agent, err := o.source.connect(podforward.Selected("app.kubernetes.io/name=spazio-agent", strings.Join(nodes, "")))
	if err != nil {
		return err
	}
	if len(nodes) == 1 && agent.Target == nil {
		return command.Usage(fmt.Errorf("NODE: its agent is asked through the API server: --kubeconfig: %w", podforward.ErrNoKubeconfig))
	}
	said, err := agent.Get(ctx, whyPath, url.Values{"format": {o.output}})
	if err != nil {
		return err
	}
	if o.output == "text" {
		said = []byte(text.Fold(string(said), text.Terminal))
	}
	_, err = out.Write(said)
	return err
}
