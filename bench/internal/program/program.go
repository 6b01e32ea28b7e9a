// Package program is what the programs of bench have in common: their exit codes
// and how they are built and waited for.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	OK      = 0
	Failure = 1
	Usage   = 2
)

// Run executes a command line and returns the exit code. An error before the
// command runs, that is of its flags and arguments, is one of usage. To be
// interrupted is a failure, for then there is no result.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	running := false
	root.PersistentPreRun = func(*cobra.Command, []string) { running = true }
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return OK
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errInterrupted
	}
	fmt.Fprintf(stderr, "%s: %v\n", root.Name(), err)
	if running {
		return Failure
	}
	return Usage
}

var errInterrupted = errors.New("interrupted")

// Main runs the command with the process's arguments and exits with its code. It
// ends by SIGINT or SIGTERM in order, and at once by the second of them.
func Main(root *cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(Run(ctx, root, os.Args[1:], os.Stdout, os.Stderr))
}

// Valid are the arguments of a command that takes none and whose flags check is
// about.
func Valid(check func() error) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := cobra.NoArgs(c, args); err != nil {
			return err
		}
		return check()
	}
}
