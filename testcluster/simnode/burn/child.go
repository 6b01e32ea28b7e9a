package burn

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"sync/atomic"
	"time"
)

// childName is the name, argv[0], by which a child knows what it is: arguments
// are the embedding program's own affair.
const childName = "spazio-burn"

// initialised says that Init was called.
var initialised atomic.Bool

// Init returns at once, unless this process is a child of a [Machine]: then it
// burns what it was told to and ends the process. It must be the first call in
// the main function of a program that makes a machine.
func Init() {
	initialised.Store(true)
	if len(os.Args) == 0 || os.Args[0] != childName {
		return
	}
	if err := Child(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// maxSeconds keeps the CPU time far from the end of its range: thirty years.
const maxSeconds = 1e9

// niceness is the lowest priority there is.
const niceness = 19

// Child is what a child does with its arguments, for a program of its own that
// [Config.Command] names: it burns at the lowest priority until the load is
// burnt, ctx ends or stdin is closed. It tells ready when it begins.
func Child(ctx context.Context, args []string, stdin io.Reader, ready io.Writer) error {
	flags := flag.NewFlagSet(childName, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	seconds := flags.Float64("cpu-seconds", 0, "CPU time to burn, in seconds")
	memory := flags.Int64("memory", 0, "memory to hold, in bytes")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("burn: %w", err)
	}
	if !(math.Abs(*seconds) <= maxSeconds) {
		return refuse("CPU", *seconds, fmt.Sprintf("at most %g seconds", maxSeconds))
	}
	if err := setNiceness(niceness); err != nil {
		return fmt.Errorf("burn: set the niceness to %d: %w", niceness, err)
	}
	load := Load{CPU: time.Duration(*seconds * float64(time.Second)), Memory: *memory}
	return Run(WithParent(ctx, stdin), load, ready)
}
