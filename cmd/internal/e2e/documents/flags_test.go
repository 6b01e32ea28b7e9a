package documents

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// flagPages returns a page of each program's flags. Programs that differ from another only by name or a
// flag are sections of its page.
func flagPages() map[string]string {
	pages := map[string]string{}
	for name := range programs {
		if name == "kubectl-spazio" || name == "spazio-agent-kube" {
			continue
		}
		var p page
		p.title(name)
		c := tree(name)
		p.commands(c, upstream(name))
		switch name {
		case "spazio":
			p.line("## kubectl spazio\n\nThe same program under the name `kubectl-spazio`, on the PATH, is a plugin of kubectl: with the\nflags above it is called as `kubectl spazio`.\n")
		case "spazio-agent":
			p.line("## spazio-agent-kube\n\nIt has the flags above. These are its own, or differ:\n")
			p.flags(different(tree("spazio-agent-kube").LocalFlags(), c.LocalFlags()))
		}
		pages["docs/configure/"+name+".md"] = p.String()
	}
	return pages
}

// upstream returns the flags that a program inherits from kube-scheduler.
func upstream(name string) *pflag.FlagSet {
	if name != "spazio-scheduler" {
		return nil
	}
	pflag.CommandLine = libraries // an earlier program may have left another
	return app.NewSchedulerCommand().Flags()
}

// different returns the flags that the other set lacks, or has with another text.
func different(set, other *pflag.FlagSet) (flags []*pflag.Flag) {
	for _, f := range listed(set) {
		if o := other.Lookup(f.Name); o == nil || o.Usage != f.Usage || o.DefValue != f.DefValue {
			flags = append(flags, f)
		}
	}
	return flags
}

// listed returns the set's visible flags, without help and version.
func listed(set *pflag.FlagSet) (flags []*pflag.Flag) {
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" && f.Name != "help" && f.Name != "version" {
			flags = append(flags, f)
		}
	})
	return flags
}

// commands documents a command and its subcommands with their flags. theirs are the flags of the
// program that it is made from, nil if there is none.
func (p *page) commands(c *cobra.Command, theirs *pflag.FlagSet) {
	if c.HasParent() {
		p.line("## " + c.CommandPath() + "\n")
	}
	p.line(markdown(cmp.Or(c.Long, c.Short)) + "\n")
	if c.Runnable() {
		p.line("```text\n" + c.UseLine() + "\n```\n")
	}
	own := listed(c.LocalFlags())
	if theirs == nil {
		p.flags(own)
	} else {
		isTheirs := func(f *pflag.Flag) bool { return theirs.Lookup(f.Name) != nil }
		p.flags(slices.DeleteFunc(slices.Clone(own), isTheirs))
		p.line("## Flags of kube-scheduler\n")
		p.flags(slices.DeleteFunc(own, func(f *pflag.Flag) bool { return !isTheirs(f) }))
	}
	for _, child := range c.Commands() {
		if !child.Hidden {
			p.commands(child, nil)
		}
	}
}

// flags writes a table of them.
func (p *page) flags(flags []*pflag.Flag) {
	if len(flags) == 0 {
		return
	}
	p.line("| flag | takes | default | meaning |\n| --- | --- | --- | --- |")
	for _, f := range flags {
		kind, usage := pflag.UnquoteUsage(f)
		usage, _, _ = strings.Cut(usage, "\nOptions are:") // hundreds of gates of one version of Kubernetes
		usage = strings.Join(strings.Fields(usage), " ")
		standard, usage := standardOf(f, usage)
		if of, ok := kinds[kind]; ok {
			kind = of
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name += ", `-" + f.Shorthand + "`"
		}
		p.line(fmt.Sprintf("| %s | %s | %s | %s |", name, cell(kind), standard, cell(usage)))
	}
	p.line("")
}

// kinds maps pflag's type names to readable ones.
var kinds = map[string]string{
	"": "true or false", "float": "number", "floats": "list of numbers", "float64Slice": "list of numbers", "int": "whole number", "int32": "whole number",
	"uint": "whole number", "ints": "list of whole numbers", "strings": "list", "stringArray": "string, repeatable",
	"stringToString": "key=value, …", "float32": "number",
}

// said matches a default in a help text that the flag's value does not show.
var output = regexp.MustCompile(` \(default:? ([^()]*)\)$`)

// standardOf returns a flag's displayed default, and its usage without it.
func standardOf(f *pflag.Flag, usage string) (standard, rest string) {
	if m := output.FindStringSubmatch(usage); m != nil {
		return cell(m[1]), strings.TrimSuffix(usage, m[0])
	}
	switch {
	case f.DefValue == "" || f.DefValue == "[]":
		return "", usage
	case strings.Contains(f.DefValue, " "): // a text
		return cell(f.DefValue), usage
	}
	return "`" + f.DefValue + "`", usage
}

var (
	// unspoken matches the default of a number or a time whose meaning needs a text.
	unspoken = regexp.MustCompile(`^(|\[\]|0|0s)$`)
	// spoken matches such a text in a help.
	spoken = regexp.MustCompile(`\b(needed|default|empty|none|without|0|only|alone|also|place of|if not|needs|repeated|repeatable)\b`)
	// quantity matches the unit of a number in a help text.
	quantity = regexp.MustCompile(`(?i)\b(seconds?|minutes?|cores?|pods?|nodes?|joules|watts|bytes|MiB|share|weight|port|seeds?|runs?|connections|workloads|requests?|writes|threads|niceness|Mbit/s|times?|multiplied|guests|slots|slices|pairs|users|tenths?|percent|lines|schemas|width|letters|virtual|hours?|how many|batches|beds?|jobs?|callers|watchers|MHz)\b`)
)

// unclear returns what a flag's help lacks, if anything.
func unclear(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	switch kind := f.Value.Type(); {
	case strings.TrimSpace(usage) == "":
		return "has no help"
	case kind != "bool" && unspoken.MatchString(f.DefValue) && !spoken.MatchString(usage):
		return "does not say what its default, " + fmt.Sprintf("%q", f.DefValue) + ", means: " + usage
	case slices.Contains([]string{"int", "int32", "uint", "uint64", "float64", "float64Slice", "intSlice"}, kind) && !quantity.MatchString(usage):
		return "does not say what its number counts: " + usage
	}
	return ""
}

// The help of each of our flags has its purpose, the unit of a number, and the meaning of a default
// that does not show it; and no default depends on the machine.
func TestHelpIsClear(t *testing.T) {
	defaults := map[string]string{} // on a machine with other processors
	processors := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(processors)
	runtime.GOMAXPROCS(processors + 1)
	for name := range programs {
		every(tree(name), func(c *cobra.Command) {
			for _, f := range listed(c.LocalFlags()) {
				defaults[c.CommandPath()+" --"+f.Name] = f.DefValue
			}
		})
	}
	runtime.GOMAXPROCS(processors)
	for name := range programs {
		if name == "kubectl-spazio" {
			continue // same as spazio
		}
		theirs := upstream(name)
		every(tree(name), func(c *cobra.Command) {
			for _, f := range listed(c.LocalFlags()) {
				if theirs != nil && theirs.Lookup(f.Name) != nil {
					continue
				}
				if was, ok := defaults[c.CommandPath()+" --"+f.Name]; ok && was != f.DefValue {
					t.Errorf("%s --%s has a default that depends on the machine: %s", c.CommandPath(), f.Name, f.DefValue)
				}
				if problem := unclear(f); problem != "" {
					t.Errorf("%s --%s %s", c.CommandPath(), f.Name, problem)
				}
			}
			if c.Short == "" {
				t.Errorf("%s has no short help", c.CommandPath())
			}
		})
	}
}

// every calls do for a command and all its visible subcommands.
func every(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, child := range c.Commands() {
		if !child.Hidden {
			every(child, do)
		}
	}
}

// TestUnclear checks that TestHelpIsClear can fail.
func TestUnclear(t *testing.T) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.Int("a", 0, "")
	set.Int("b", 0, "most nodes")
	set.Int("c", 0, "most nodes; 0 for all")
	set.Float64("d", 7, "how great it is")
	set.String("e", "", "file of the token")
	set.String("f", "", "file of the token; empty for none")
	set.Bool("g", false, "be quick")
	set.Duration("h", 0, "how long (default 5s)")
	for name, want := range map[string]string{
		"a": "has no help", "b": "does not say what its default", "c": "", "d": "does not say what its number counts",
		"e": "does not say what its default", "f": "", "g": "", "h": "",
	} {
		if got := unclear(set.Lookup(name)); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("--%s: %q, want %q", name, got, want)
		}
	}
}
