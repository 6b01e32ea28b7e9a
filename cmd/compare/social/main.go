package social

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Main is the role of a replica that is a child process. It writes its address once it serves. Each line
// of its input has the replicas of all tiers as JSON: {"post":["127.0.0.1:4711"]}.
func Main(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("social", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	tier := flags.String("tier", "", "which tier it is of")
	listen := flags.String("listen", "127.0.0.1:0", "host:port to serve at")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	peers := &directory{}
	s, err := newServer(*tier, peers)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { stop(readReplicas(in, peers)) }() // it ends with the input
	err = Serve(ctx, *listen, s, announce(out))
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// readReplicas reads lines of replicas until the input ends.
func readReplicas(in io.Reader, peers *directory) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var replicas map[string][]string
		if err := json.Unmarshal(lines.Bytes(), &replicas); err != nil {
			return fmt.Errorf("%w: replicas %s: %w", ErrInvalid, lines.Bytes(), err)
		}
		peers.set(replicas)
	}
	return lines.Err()
}
