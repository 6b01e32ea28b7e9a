package topctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// whyPath is where an agent explains its last report.
const whyPath = "/debug/why"

// whyOptions are the flags of spazio why.
type whyOptions struct {
	source   Source
	selector string
	output   string
}

// NewWhyCommand returns the command spazio why.
func NewWhyCommand() *cobra.Command {
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
	f.StringVar(&o.source.Scheduler, "agent", "http://127.0.0.1:9691", "URL of the agent's debug address")
	o.source.clusterFlags(f)
	f.StringVar(&o.source.Namespace, "agent-namespace", "spazio-agent", "namespace of the agents' pods (with --kubeconfig or --context)")
	f.StringVar(&o.selector, "agent-selector", "app.kubernetes.io/name=spazio-agent", "labels of the agents' pods (with --kubeconfig or --context)")
	f.StringVar(&o.source.Port, "agent-port", "9691", "port of the debug address in the pod (with --kubeconfig or --context)")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	return c
}

var (
	errWhichNode = errors.New("NODE is given with --kubeconfig or --context, and only then")
	errNoAgent   = errors.New("no agent's pod runs there")
)

func (o *whyOptions) run(ctx context.Context, out io.Writer, nodes []string) error {
	if o.output != "text" && o.output != "json" {
		return serve.Usage(fmt.Errorf("--output: %q is neither text nor json", o.output))
	}
	if o.source.remote() != (len(nodes) == 1) {
		return serve.Usage(errWhichNode)
	}
	agent, err := o.source.open("--agent", func(f *forwarded) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return o.pod(ctx, f, nodes[0]) }
	})
	if err != nil {
		return err
	}
	text, err := agent.fetch(ctx, whyPath, url.Values{"format": {o.output}})
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// pod finds the agent's pod on a node.
func (o *whyOptions) pod(ctx context.Context, f *forwarded, node string) (string, error) {
	pods, err := f.client.CoreV1().Pods(o.source.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: o.selector, FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return "", fmt.Errorf("find the agent on node %s: %w", node, err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			return pod.Name, nil
		}
	}
	return "", fmt.Errorf("find the agent on node %s: %w (namespace %s, %s)", node, errNoAgent, o.source.Namespace, o.selector)
}
