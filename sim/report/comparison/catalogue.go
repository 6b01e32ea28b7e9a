package comparison

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// WriteCatalogue lists what can be compared: the experiments, the schedulers and the
// constants and options of spazio, in lines that a terminal holds.
func WriteCatalogue(w io.Writer) error {
	var b strings.Builder
	line := func(name, says string) { b.WriteString(text.Hang(name, says, text.Terminal) + "\n") }
	list := func(heading string, all []experiment.Experiment) {
		b.WriteString(heading + "\n")
		width := 0
		for _, e := range all {
			width = max(width, len(e.Known()))
		}
		for _, e := range all {
			line(fmt.Sprintf("  %-*s ", width, e.Known()), e.Title+": "+e.Question)
			if trace := e.NeedsTrace + e.OptionalTrace; trace != "" {
				line("         --trace: ", trace)
			}
		}
	}
	list("experiments, with their short names", experiment.Experiments())
	b.WriteString("  " + experiment.All + "    stands for all of these\n")
	for _, name := range []string{experiment.Profiles, experiment.Energy, experiment.Findings} {
		group, err := experiment.ByGroup(name)
		if err != nil {
			return err
		}
		list(name+", which stands for all of", group)
	}
	b.WriteString("schedulers, those with a * unless more are asked for\n")
	for _, s := range experiment.Schedulers() {
		mark := " "
		if slices.Contains(experiment.Leading(), s.Name) {
			mark = "*"
		}
		line(fmt.Sprintf("%s %-22s ", mark, s.Name), s.About)
	}
	b.WriteString("variants that the findings compare\n")
	for _, s := range experiment.Variants() {
		line(fmt.Sprintf("  %-24s ", s.Name), s.About)
	}
	b.WriteString("constants of spazio, which --set changes, and their defaults\n")
	constants := experiment.Constants()
	for _, c := range constants {
		line(fmt.Sprintf("  %-28s ", c.Name), c.At(1))
	}
	b.WriteString("options without a default number, which --set changes, too\n")
	for _, name := range experiment.Settings() {
		if !slices.ContainsFunc(constants, func(c experiment.Constant) bool { return c.Name == name }) {
			fmt.Fprintf(&b, "  %s\n", name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
