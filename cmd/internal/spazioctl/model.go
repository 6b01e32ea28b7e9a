package spazioctl

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// modelOptions are the flags of spazio model.
type modelOptions struct {
	source  debugSource
	display display
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
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	o.source.bind(f, "aggregator", "spazio-system")
	o.display.flags(f)
	return c
}

func (o *modelOptions) run(ctx context.Context, out, errs io.Writer) error {
	if err := o.display.validate(); err != nil {
		return command.Usage(err)
	}
	aggregator, err := o.source.connect(podforward.Selected("app.kubernetes.io/name=spazio-aggregator", ""))
	if err != nil {
		return err
	}
	models := shown[modelserver.Status]{sight: modelSight}
	models.ask = func(ctx context.Context) (modelserver.Status, error) {
		return podforward.Decode[modelserver.Status](ctx, aggregator, modelserver.DebugPath, nil)
	}
	return models.run(ctx, o.display, out, errs)
}

// modelSight has the words of a model as the title of its first table.
func modelSight(s modelserver.Status) (v sight) {
	if len(s.Models) == 0 {
		v.words = "The aggregator has no model yet."
	}
	for i, m := range s.Models {
		channels, components := text.Table(m.ChannelTable()), text.Table(m.ComponentTable())
		channels.Title = m.Text()
		if i > 0 {
			channels.Title = "\n" + channels.Title
		}
		v.tables = append(v.tables, channels, components)
	}
	return v
}
