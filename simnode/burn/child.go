package burn

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"time"
)

// Command is the first argument with which a [Machine] starts its children:
// the program that starts them hands what follows it to [Child].
const Command = "burn"

// maxSeconds keeps the CPU time far from the end of its range: thirty years.
const maxSeconds = 1e9

// niceness is the lowest priority there is.
const niceness = 19

// Child is what a program does that a [Machine] has started with [Command] and
// args, at the lowest priority, until the load is burnt, ctx ends or stdin is
// closed. It tells ready when it begins.
func Child(ctx context.Context, args []string, stdin io.Reader, ready io.Writer) error {
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	seconds := flags.Float64("cpu-seconds", 0, "CPU time to burn, in seconds")
	memory := flags.Int64("memory", 0, "memory to hold, in bytes")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("burn: %w", err)
	}
	if !(math.Abs(*seconds) <= maxSeconds) {
		return fmt.Errorf("%w: %g CPU-seconds", ErrBadLoad, *seconds)
	}
	if err := setNiceness(niceness); err != nil {
		return fmt.Errorf("burn: set the niceness to %d: %w", niceness, err)
	}
	load := Load{CPU: time.Duration(*seconds * float64(time.Second)), Memory: *memory}
	return Run(WithParent(ctx, stdin), load, ready)
}
