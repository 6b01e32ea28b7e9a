package documents

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// narrow fails for a line that a terminal would break.
func narrow(t *testing.T, what, output string) {
	t.Helper()
	for line := range strings.Lines(output) {
		if line = strings.TrimRight(line, "\n"); text.Width(line) > text.Terminal {
			t.Errorf("%s: %d columns: %s", strings.TrimSpace(what), text.Width(line), line)
		}
	}
}

// The help of each program, its commands and its lists of choices fits a terminal, except for
// kube-scheduler's flags.
func TestHelpFits(t *testing.T) {
	defer func() { pflag.CommandLine = libraries }()
	shown := 0
	show := func(name string, args ...string) {
		pflag.CommandLine = libraries
		var out, errs bytes.Buffer
		if code := programs[name].main(t.Context(), args, &out, &errs); code != command.ExitOK || out.Len() < 100 {
			t.Errorf("%s %v: exit code %d: %s%s", name, args, code, out.String(), errs.String())
		}
		narrow(t, name+" "+strings.Join(args, " "), out.String())
		shown++
	}
	for name := range programs {
		if upstream(name) != nil {
			continue
		}
		every(tree(name), func(c *cobra.Command) {
			show(name, append(strings.Fields(c.CommandPath())[len(strings.Fields(tree(name).CommandPath())):], "--help")...)
		})
	}
	show("spazio-lab", "simulate", "--list")
	show("spazio-lab", "figures", "--list")
	if shown < 30 {
		t.Errorf("got only %d help texts", shown)
	}
}
