package processes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/internal/processes"
)

// Pods start in the order they were bound; one that was killed while it waited does not.
func TestPods(t *testing.T) {
	p := processes.New()
	for _, uid := range []string{"b", "a", "failing", "killed"} {
		if err := p.Bind(simnode.Pod{UID: uid}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Bind(simnode.Pod{UID: "a"}); !errors.Is(err, simnode.ErrDuplicatePod) {
		t.Errorf("bound twice: %v", err)
	}
	p.Kill("killed")
	p.Kill("nobody")

	ctx, cancel := context.WithCancel(t.Context())
	var happened []string
	p.Run(ctx, func(next simnode.Pod) {
		uid := next.UID
		started, err := p.Start(uid, func() (func(), error) {
			if uid == "failing" {
				return nil, errors.New("no such program")
			}
			return func() { happened = append(happened, "kill "+uid) }, nil
		})
		happened = append(happened, fmt.Sprintf("%s %v %v", uid, started, err))
		if !started {
			happened = append(happened, fmt.Sprint("end ", p.End(uid, err)))
		}
		if uid == "killed" {
			happened = append(happened, fmt.Sprint("end ", p.End("b", nil)))
			cancel()
		}
	})
	want := []string{
		"b true <nil>", "a true <nil>", "failing false no such program", "end " + fmt.Sprint(simnode.Failed),
		"killed false <nil>", "end " + fmt.Sprint(simnode.Killed), "end " + fmt.Sprint(simnode.Succeeded), "kill a",
	}
	if !slices.Equal(happened, want) {
		t.Errorf("got  %q\nwant %q", happened, want)
	}
	if err := p.Bind(simnode.Pod{UID: "late"}); !errors.Is(err, simnode.ErrStopped) {
		t.Errorf("after the end: %v", err)
	}
	if n := p.Len(); n != 1 {
		t.Errorf("%d pods, one of which has not ended", n)
	}
	if phase := p.End("a", errors.New("killed")); phase != simnode.Killed {
		t.Errorf("ended as %v", phase)
	}
}

// What waits is bounded by what a node holds.
func TestPodsFull(t *testing.T) {
	p := processes.New()
	for i := range simnode.MaxPods {
		if err := p.Bind(simnode.Pod{UID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Bind(simnode.Pod{UID: "more"}); !errors.Is(err, simnode.ErrBadPod) {
		t.Errorf("one more: %v", err)
	}
	if n := p.Len(); n != simnode.MaxPods {
		t.Errorf("%d pods", n)
	}
}
