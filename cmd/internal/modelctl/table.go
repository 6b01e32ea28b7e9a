package modelctl

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

func table(out io.Writer, models []Model) error {
	if len(models) == 0 {
		_, err := fmt.Fprintln(out, "The aggregator has no model yet.")
		return err
	}
	for i, m := range models {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "schema %s, version %d\n", m.Schema, m.Version)
		fmt.Fprintf(out, "%d nodes, %d clipped, mass %.1f; ages %.1f s to %.1f s, median %.1f s\n",
			m.Nodes, m.Clipped, m.Mass, m.Ages.Min, m.Ages.Max, m.Ages.Median)
		if err := channels(out, m); err != nil {
			return err
		}
		if err := components(out, m); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, sway(m.SwayDegrees)); err != nil {
			return err
		}
	}
	return nil
}

func channels(out io.Writer, m Model) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CHANNEL\tDIRECTION\tCOST OF A POD\tSD")
	for _, c := range m.Channels {
		cost, sd := "unknown", "-"
		if c.Cost != nil {
			cost, sd = fmt.Sprintf("%.4g", c.Cost.Value), fmt.Sprintf("%.2g", c.Cost.SD)
		}
		fmt.Fprintf(w, "%s\t%.4f\t%s\t%s\n", c.Name, c.Direction, cost, sd)
	}
	return w.Flush()
}

func components(out io.Writer, m Model) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "COMPONENT\tSIGMA\tRMS\tENERGY\tSHARE\tDIRECTION")
	for i, c := range m.Components {
		var direction strings.Builder
		for _, u := range c.Direction {
			fmt.Fprintf(&direction, "%+.3f ", u)
		}
		fmt.Fprintf(w, "%d\t%.4g\t%.4g\t%.4g\t%.1f %%\t%s\n", i+1, c.Sigma, c.RMS, c.Energy, 100*c.Share, strings.TrimSpace(direction.String()))
	}
	return w.Flush()
}

func sway(degrees float64) string {
	if degrees >= 90 {
		return "No bound on how far nodes with a hundredth of the weight can have turned the direction."
	}
	return fmt.Sprintf("Nodes with a hundredth of the weight can have turned the direction by at most %.2f degrees.", degrees)
}
