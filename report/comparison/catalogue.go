package comparison

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// WriteCatalogue lists what can be compared: the experiments, the schedulers and the
// constants and options of spazio.
func WriteCatalogue(w io.Writer) error {
	var b strings.Builder
	b.WriteString("experiments\n")
	for _, e := range experiment.Experiments() {
		fmt.Fprintf(&b, "  %-6s %s: %s\n", e.Name, e.Title, e.Question)
		if e.NeedsTrace != "" {
			fmt.Fprintf(&b, "         --trace: %s\n", e.NeedsTrace)
		}
	}
	b.WriteString("  " + experiment.All + "    stands for all of these\n")
	for _, name := range []string{experiment.Profiles, experiment.Energy} {
		group, err := experiment.ByGroup(name)
		if err != nil {
			return err
		}
		b.WriteString(name + ", which stands for all of\n")
		for _, e := range group {
			fmt.Fprintf(&b, "  %-6s %s: %s\n", e.Name, e.Title, e.Question)
		}
	}
	findings, err := experiment.ByGroup(experiment.Findings)
	if err != nil {
		return err
	}
	b.WriteString(experiment.Findings + ", which stands for all of\n")
	for _, e := range findings {
		fmt.Fprintf(&b, "  %-18s %s: %s\n", e.Name, e.Title, e.Question)
	}
	b.WriteString("schedulers, those with a * unless more are asked for\n")
	for _, s := range experiment.Schedulers() {
		mark := " "
		if slices.Contains(experiment.Leading(), s.Name) {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s %-22s %s\n", mark, s.Name, s.About)
	}
	b.WriteString("variants that the findings compare\n")
	for _, s := range experiment.Variants() {
		fmt.Fprintf(&b, "  %-24s %s\n", s.Name, s.About)
	}
	b.WriteString("constants of spazio, which --set changes, and their defaults\n")
	constants := experiment.Constants()
	for _, c := range constants {
		fmt.Fprintf(&b, "  %-28s %s\n", c.Name, c.At(1))
	}
	b.WriteString("options without a default number, which --set changes, too\n")
	for _, name := range experiment.Settings() {
		if !slices.ContainsFunc(constants, func(c experiment.Constant) bool { return c.Name == name }) {
			fmt.Fprintf(&b, "  %s\n", name)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}
