package spazioctl

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/debugsource"
	"github.com/spazio-scheduler/spazio/podforward"
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
		fmt.Fprintf(out, "schema %s, version %d\n", m.Schema, m.Version)
		fmt.Fprintf(out, "%s, %d clipped, mass %.1f; ages %.1f s to %.1f s, median %.1f s\n",
			plural(m.Nodes, "node"), m.Clipped, m.Mass, m.Ages.Min, m.Ages.Max, m.Ages.Median)
		if err := write(out, channelColumns, m.Channels); err != nil {
			return err
		}
		if err := write(out, componentColumns, ranked(m.Components)); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, sway(m.SwayDegrees)); err != nil {
			return err
		}
	}
	return nil
}

var channelColumns = []column[modelserver.Channel]{
	{title: "CHANNEL", cell: func(c modelserver.Channel) string { return c.Name }},
	{title: "DIRECTION", number: true, cell: func(c modelserver.Channel) string { return strconv.FormatFloat(c.Direction, 'f', 4, 64) }},
	{title: "COST OF A POD", number: true, cell: func(c modelserver.Channel) string {
		if c.Cost == nil {
			return "unknown"
		}
		return fmt.Sprintf("%.4g", c.Cost.Value)
	}},
	{title: "SD", number: true, cell: func(c modelserver.Channel) string {
		if c.Cost == nil {
			return none
		}
		return fmt.Sprintf("%.2g", c.Cost.SD)
	}},
}

// component is one with its rank, from 1.
type component struct {
	modelserver.Component
	rank int
}

func ranked(all []modelserver.Component) []component {
	list := make([]component, len(all))
	for i, c := range all {
		list[i] = component{c, i + 1}
	}
	return list
}

var componentColumns = []column[component]{
	{title: "COMPONENT", cell: func(c component) string { return strconv.Itoa(c.rank) }},
	{title: "SIGMA", number: true, cell: func(c component) string { return fmt.Sprintf("%.4g", c.Sigma) }},
	{title: "RMS", number: true, cell: func(c component) string { return fmt.Sprintf("%.4g", c.RMS) }},
	{title: "ENERGY", number: true, cell: func(c component) string { return fmt.Sprintf("%.4g", c.Energy) }},
	{title: "SHARE", number: true, cell: func(c component) string { return fmt.Sprintf("%.1f %%", 100*c.Share) }},
	{title: "DIRECTION", cell: func(c component) string {
		parts := make([]string, len(c.Direction))
		for i, u := range c.Direction {
			parts[i] = fmt.Sprintf("%+.3f", u)
		}
		return strings.Join(parts, " ")
	}},
}

func sway(degrees float64) string {
	if degrees >= 90 {
		return "No bound on how far nodes with a hundredth of the weight can have turned the direction."
	}
	return fmt.Sprintf("Nodes with a hundredth of the weight can have turned the direction by at most %.2f degrees.", degrees)
}
