package spazioctl

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/debugsource"
	"github.com/spazio-scheduler/spazio/podforward"
	"github.com/spazio-scheduler/spazio/report/table"
)

// modelOptions are the flags of spazio model.
type modelOptions struct {
	source   debugsource.Source
	pod      string
	selector string
	schema   string
	display  display
}

// newModelCommand returns the command spazio model.
func newModelCommand() *cobra.Command {
	o := modelOptions{}
	c := &cobra.Command{
		Use:   "model",
		Short: "Print the fleet's model of its load",
		Long: "spazio model asks an aggregator for the models it published last, one a schema:\n" +
			"the direction of the fleet's load by channel, the energy of each component, what\n" +
			"a pod costs, how many nodes they come from and how old those nodes' models are.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	o.source.Flags(f, "aggregator", "spazio-system", 9693)
	f.StringVar(&o.pod, "aggregator-pod", "", "the aggregator's pod"+debugsource.Remotely+" (default: any of its replicas)")
	f.StringVar(&o.selector, "aggregator-selector", "app.kubernetes.io/name=spazio-aggregator", "labels of the replicas' pods"+debugsource.Remotely)
	f.StringVar(&o.schema, "schema", "", "show the model of this schema alone")
	o.display.flags(f)
	return c
}

func (o *modelOptions) run(ctx context.Context, out, errs io.Writer) error {
	if err := o.display.validate(); err != nil {
		return command.Usage(err)
	}
	find := podforward.Selected(o.selector, "")
	if o.pod != "" {
		find = podforward.Named(o.pod)
	}
	aggregator, err := o.source.Open(find)
	if err != nil {
		return err
	}
	query := url.Values{}
	if o.schema != "" {
		query.Set("schema", o.schema)
	}
	return repeat(ctx, o.display, out, errs, func() (modelserver.Status, error) {
		return podforward.Decode[modelserver.Status](ctx, aggregator, modelserver.DebugPath, query)
	}, showModels)
}

func showModels(out io.Writer, s modelserver.Status) error {
	if len(s.Models) == 0 {
		_, err := fmt.Fprintln(out, "The aggregator has no model yet.")
		return err
	}
	for i, m := range s.Models {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, m.Text())
		for _, t := range []modelserver.Table{m.ChannelTable(), m.ComponentTable()} {
			if err := table.Table(t).WriteText(out, 0); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(out, m.SwayText()); err != nil {
			return err
		}
	}
	return nil
}
