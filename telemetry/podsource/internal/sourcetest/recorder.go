// Package sourcetest holds what the tests of the pod sources have in common: a
// recorder of a source's events and a node whose containers come and go.
package sourcetest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// Patience is how long a condition may take to come true on a busy machine.
const Patience = time.Minute

// Recorder runs a source and keeps what it reports.
type Recorder struct {
	t      testing.TB
	heard  chan struct{}
	cancel context.CancelFunc
	ended  chan error

	mu     sync.Mutex
	pods   []telemetry.Pod
	events int
	churns int
}

// Run runs a source until the test ends or Stop is called.
func Run(t testing.TB, source telemetry.PodSource) *Recorder {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{t: t, heard: make(chan struct{}, 1), cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- source.Run(ctx, r.notify) }()
	t.Cleanup(r.Stop)
	return r
}

// Stop ends the source and checks that it leaves no goroutine behind.
func (r *Recorder) Stop() {
	r.cancel()
	err, running := <-r.ended
	if !running {
		return
	}
	close(r.ended)
	if err != nil {
		r.t.Errorf("Run = %v", err)
	}
	for _, of := range []string{"podsource/internal/follow.", "podsource.(*follower", "watch.(*StreamWatcher)"} {
		if stacks := stacksOf(of); stacks != "" {
			r.t.Errorf("a goroutine of %s outlives Run:\n%s", of, stacks)
		}
	}
}

// stacksOf returns all stacks if a goroutine of the named code is among them and
// stays: one that has done its last work may take a moment to leave.
func stacksOf(code string) string {
	buffer := make([]byte, 1<<20)
	for deadline := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		stacks := string(buffer[:runtime.Stack(buffer, true)])
		if !strings.Contains(stacks, code) {
			return ""
		}
		if time.Now().After(deadline) {
			return stacks
		}
	}
}

func (r *Recorder) notify(e telemetry.PodEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.events == 0 && (!e.Changed || e.Churn):
		r.t.Errorf("the first event is %+v", e)
	case !e.Changed && !e.Churn:
		r.t.Error("an event says nothing")
	case e.Changed && !slices.IsSortedFunc(e.Pods, func(a, b telemetry.Pod) int { return strings.Compare(a.UID, b.UID) }):
		r.t.Errorf("not sorted: %v", e.Pods)
	case e.Changed && r.events > 0 && slices.Equal(e.Pods, r.pods):
		r.t.Errorf("changed to the same: %v", e.Pods)
	}
	r.events++
	if e.Changed {
		r.pods = e.Pods
	}
	if e.Churn {
		r.churns++
	}
	select {
	case r.heard <- struct{}{}:
	default:
	}
}

// running are the UIDs of the pods that run.
func running(pods []telemetry.Pod) (uids []string) {
	for _, p := range pods {
		if p.State == telemetry.PodRunning {
			uids = append(uids, p.UID)
		}
	}
	return uids
}

// Until waits until the pods that run are those wanted.
func (r *Recorder) Until(want ...string) {
	r.t.Helper()
	r.until(func() bool { return r.events > 0 && slices.Equal(running(r.pods), want) }, want)
}

// UntilStates waits until the pods on the node are those wanted, as they are; one that is
// wanted without a name may have any.
func (r *Recorder) UntilStates(want ...telemetry.Pod) {
	r.t.Helper()
	r.until(func() bool {
		return r.events > 0 && slices.EqualFunc(r.pods, want, func(got, want telemetry.Pod) bool {
			if want.Name == "" {
				got.Namespace, got.Name = "", ""
			}
			return got == want
		})
	}, want)
}

// UntilPresent waits until the pods on the node are those wanted, however they
// are.
func (r *Recorder) UntilPresent(want ...string) {
	r.t.Helper()
	r.until(func() bool {
		return slices.EqualFunc(r.pods, want, func(p telemetry.Pod, uid string) bool { return p.UID == uid })
	}, want)
}

// UntilChurn waits for the first churn after so many.
func (r *Recorder) UntilChurn(after int) {
	r.t.Helper()
	r.until(func() bool { return r.churns > after }, "churn")
}

func (r *Recorder) until(ok func() bool, what any) {
	r.t.Helper()
	deadline := time.After(Patience)
	for {
		r.mu.Lock()
		done := ok()
		pods, churns := r.pods, r.churns
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-r.heard:
		case <-deadline:
			r.t.Fatalf("waited in vain for %v; pods %v, %d times churn", what, pods, churns)
		}
	}
}

// Churns is how often churn was reported.
func (r *Recorder) Churns() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.churns
}
