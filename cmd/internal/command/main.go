package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/report/text"
)

// Exit codes of every command.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

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
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ran, err := root.ExecuteContextC(ctx)
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
	}
	for _, child := range c.Commands() {
		watch(child, reached)
	}
}

// OneLine is an error without line breaks and what else would move a terminal's cursor: it
// may quote who was asked.
func OneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	return text.Plain(strings.Join(lines, "; "))
}
