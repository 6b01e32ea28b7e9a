package simnode_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

var _ simnode.Part = (*simnode.Fleet)(nil)

var errBroken = errors.New("broken")

// log is the sequence of events.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

// part is a part that was started elsewhere.
type part struct {
	*log
	failed   chan struct{}
	err      error // the reason of its failure
	refusing error // the error of Close
}

func (p *part) Failed() <-chan struct{} { return p.failed }
func (p *part) Err() error              { return p.err }
func (p *part) Close() error            { p.add("plane closed"); return p.refusing }

// Parts end in reverse order, each after the next one has ended, even if the context they were started
// with ended long before.
func TestStop(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var happened log
	var reported []error
	group, running := simnode.NewGroup(ctx, func(err error) { reported = append(reported, err) })
	group.Adopt("plane", &part{log: &happened, failed: make(chan struct{}), refusing: errBroken})
	group.OnStop(func() { happened.add("file removed") })
	for _, name := range []string{"nodes", "agents"} {
		group.Start(name, func(ctx context.Context) error {
			<-ctx.Done()
			happened.add(name + " stopped")
			happened.add(name + " ended")
			return errBroken // irrelevant by then
		})
	}
	interrupt()
	<-running.Done()
	if len(happened.lines) > 0 {
		t.Errorf("an interrupt alone ended %q", happened.lines)
	}
	group.Stop()
	group.Stop()
	want := []string{"agents stopped", "agents ended", "nodes stopped", "nodes ended", "file removed", "plane closed"}
	if diff := cmp.Diff(want, happened.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(reported) != 1 || !errors.Is(reported[0], errBroken) {
		t.Errorf("reported %v", reported)
	}
	if cause := context.Cause(running); !errors.Is(cause, context.Canceled) {
		t.Errorf("got cause %v", cause)
	}
}

// The first part that ends by itself ends the context, and is its cause.
func TestFailure(t *testing.T) {
	for _, test := range []struct {
		name     string
		fail     func(*simnode.Group, *log)
		want     error
		wantText string
	}{
		{"with an error", func(g *simnode.Group, _ *log) {
			g.Start("nodes", func(context.Context) error { return errBroken })
		}, errBroken, "nodes: broken"},
		{"without one", func(g *simnode.Group, _ *log) {
			g.Start("nodes", func(context.Context) error { return nil })
		}, simnode.ErrEnded, "nodes: ended unexpectedly"},
		{"adopted", func(g *simnode.Group, l *log) {
			failed := make(chan struct{})
			close(failed)
			g.Adopt("plane", &part{log: l, failed: failed, err: errBroken, refusing: errors.New("not again")})
		}, errBroken, "plane: broken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var happened log
			group, running := simnode.NewGroup(t.Context(), func(err error) { t.Errorf("reported %v", err) })
			test.fail(group, &happened)
			<-running.Done()
			if err := context.Cause(running); !errors.Is(err, test.want) || err.Error() != test.wantText {
				t.Errorf("got cause %v", err)
			}
			group.Stop()
		})
	}
}
