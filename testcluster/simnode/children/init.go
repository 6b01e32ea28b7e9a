package children

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Role is the function of a child: it gets arguments, the standard input, on which the parent sends
// messages, and the output, on which it answers in lines. The context ends with the input and with
// SIGTERM.
type Role func(ctx context.Context, args []string, in io.Reader, out io.Writer) error

// childName is the argv[0] by which a child is recognized, since arguments belong to the embedding
// program.
const childName = "spazio-child"

// initialised reports whether Init was called.
var initialised atomic.Bool

// Init returns at once unless this process is a child of a Group: then it runs the child's
// role and ends the process. It must be the first call in main, or in TestMain.
func Init(roles map[string]Role) {
	initialised.Store(true)
	if len(os.Args) < 2 || os.Args[0] != childName {
		return
	}
	name := os.Args[1]
	if name == keeperRole {
		keep(os.Args[2], os.Stdin)
		os.Exit(0)
	}
	role, ok := roles[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role %q\n", name)
		os.Exit(2)
	}
	ctx, stop := context.WithCancel(context.Background())
	// As long as the child runs: the parent ends its input and signals, and what comes second must
	// not kill it.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		<-asked
		stop()
	}()
	in, feed := io.Pipe()
	go func() {
		_, err := io.Copy(feed, os.Stdin)
		stop()
		feed.CloseWithError(err)
	}()
	if err := role(ctx, os.Args[2:], in, os.Stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// keeperRole is the one role that every program has.
const keeperRole = "keeper"

// keep removes the directory once all holders of the other end of the pipe have ended.
func keep(dir string, pipe io.Reader) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	_, _ = io.Copy(io.Discard, pipe)
	_ = os.RemoveAll(dir)
}
