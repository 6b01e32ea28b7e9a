package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Exit codes of every command.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// Program returns a function for Main that executes a command.
func Program(newCommand func() *cobra.Command) func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return Execute(ctx, newCommand(), args, stdout, stderr)
	}
}

// Main runs a command until it ends or the process gets SIGINT or SIGTERM,
// which cancel its context; a second signal ends the process at once. Main
// does not return: it exits with the command's code.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // restores the signals' default effect
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError marks an error as the caller's, not the machine's.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// ErrInterrupted is what is said of a command that was cut short.
var ErrInterrupted = errors.New("interrupted")

// serves is the annotation of commands that Serves marks.
const serves = "spazio-serves"

// Serves marks a command that runs until it is stopped, and returns it: to be cancelled is its
// end, and no failure.
func Serves(c *cobra.Command) *cobra.Command {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[serves] = "true"
	return c
}

// Usage marks err so that Execute exits with ExitUsage; nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Execute runs a command tree with args and returns the exit code. An error is
// printed as one line on stderr. It is a usage error if it came before any
// RunE was reached or is marked by Usage. Being cancelled through ctx is a failure,
// for then there is no result, but of a command that Serves.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	reached := false
	watch(root, &reached)
	root.SilenceErrors, root.SilenceUsage = true, true
	if root.Flags().Lookup("version") == nil { // kube-scheduler has one; that of other libraries is not boolean
		root.Version = build.About()
		root.Flags().Bool("version", false, "version of "+root.Name())
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages |", fmt.Sprintf(".FlagUsagesWrapped %d |", helpColumns)))
	root.SuggestionsMinimumDistance = 2 // cobra's
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ran, err := root, unknown(root, args)
	if err == nil {
		ran, err = root.ExecuteContextC(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		if err = ErrInterrupted; ran.Annotations[serves] != "" {
			err = nil
		}
	}
	if err == nil {
		return ExitOK
	}
	fmt.Fprintf(stderr, "%s: %s\n", root.Name(), OneLine(err))
	var usage usageError
	if !reached || errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitFailure
}

// helpColumns is the width of help's lines: that of tables.
const helpColumns = 120

// unknown is the error of a group of commands that is given one that it has not, for which
// cobra shows help and calls it success.
func unknown(root *cobra.Command, args []string) error {
	group, rest, err := root.Find(args)
	if err != nil || group == root || group.Runnable() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") || rest[0] == "help" {
		return nil
	}
	group.SuggestionsMinimumDistance = max(group.SuggestionsMinimumDistance, root.SuggestionsMinimumDistance)
	err = fmt.Errorf("unknown command %q for %q", rest[0], group.CommandPath())
	if similar := group.SuggestionsFor(rest[0]); len(similar) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, similar[0])
	}
	return err
}

// watch notes when a command of the tree begins to run: before, errors are
// about flags and arguments.
func watch(c *cobra.Command, reached *bool) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			*reached = true
			return run(c, args)
		}
		if c.Args == nil && !c.HasSubCommands() {
			c.Args = cobra.NoArgs
		}
		if check := c.Args; check != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				err := check(c, args)
				if err != nil && strings.HasPrefix(err.Error(), "accepts ") && !strings.HasSuffix(err.Error(), c.UseLine()) {
					return fmt.Errorf("%w: %s", err, c.UseLine())
				}
				return err
			}
		}
	}
	for _, child := range c.Commands() {
		watch(child, reached)
	}
}

// OneLine returns an error as users read it: without line breaks and what else would move a
// terminal's cursor, as it may quote what was asked, and without the names of our packages.
func OneLine(err error) string {
	message := namedTwice.ReplaceAllStringFunc(err.Error(), func(both string) string {
		names := namedTwice.FindStringSubmatch(both)
		if !strings.EqualFold(strings.ReplaceAll(names[1], "-", ""), names[2]) && !strings.EqualFold(strings.ReplaceAll(names[1], "-", "")+"s", names[2]) {
			return both
		}
		return "--" + names[1] + " "
	})
	for _, r := range rewording {
		message = r.pattern.ReplaceAllString(message, r.by)
	}
	lines := strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' })
	return text.Plain(strings.Join(lines, "; "))
}

// namedTwice is a flag before the error of its field, as in "--nodes: demo: Nodes = -1".
var namedTwice = regexp.MustCompile(`--([a-z0-9-]+): (?:[a-z][a-z0-9]*: )?([A-Z]\w*) = `)

// rewording is what libraries, ours among them, word for those who program, and how it reads.
var rewording = []struct {
	pattern *regexp.Regexp
	by      string
}{
	// cobra's list of similar commands; names of packages before an error, and before that of
	// a field, as in "demo: Nodes = -1".
	{regexp.MustCompile(`\n\nDid you mean this\?\n\t(\S+)\n(?:\t\S+\n)*$`), "; did you mean $1?"},
	{regexp.MustCompile(`(^|: |; |\n|\()(?:(?:` + strings.Join(packages, "|") + `): )+`), "$1"},
	{regexp.MustCompile(`(^|[ (])[a-z][a-z0-9]*: ([A-Z][\w.\[\]]*) = `), "$1$2 = "},
	{regexp.MustCompile(`: invalid configuration(?: or (?:input|argument))?: `), ": "},
	{regexp.MustCompile(`strconv\.(?:ParseInt|ParseUint|Atoi): parsing "[^"]*": invalid syntax`), "not a whole number"},
	{regexp.MustCompile(`strconv\.ParseFloat: parsing "[^"]*": invalid syntax`), "not a number"},
	{regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": `), ""},
	{regexp.MustCompile(`: out of range$`), ""},
	{regexp.MustCompile(`no configuration has been provided, try setting KUBERNETES_MASTER environment variable`), "this is no pod, and no --kubeconfig is given"},
}

// packages are those of ours that errors begin with. TestOneLineNamesNoPackage keeps the list.
var packages = strings.Fields(`
agent aggregate api autoscale backend capacity certs children client
compare controller controllers convert cpuprofile demo deploy descheduler embedded energy experiment
fakerapl filter hub identity kalman liqo load measured modelserver node plugin
podforward prediction profile profiler prometheus pronto publish ratio recording relief report
requestreport reserve room server share sim simnode slice social source svd telemetry
testbed testbeds transport tuning v1alpha1 view vpa web workload`)
