package simnode_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// step is an event of a Timed: the running pods, or a pod's new phase.
type step struct {
	At      time.Duration
	Running []string
	UID     string
	Phase   simnode.Phase
}

// Pods take the time that they were created with, however many there are, and a killed one takes none.
func TestTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var steps []step
		note := func(s step) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, s)
		}
		m := simnode.NewTimed(simnode.NodeSpec{Name: "mine", Cores: 1, Memory: 1 << 30}, func(running []string) {
			note(step{At: time.Since(began), Running: running})
		})
		if m.Spec().Name != "mine" {
			t.Errorf("got spec %+v", m.Spec())
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- m.Run(ctx, func(tr simnode.Transition) {
				note(step{At: tr.At.Sub(began), UID: tr.UID, Phase: tr.Phase})
			})
		}()
		for _, p := range []simnode.Pod{
			{UID: "b", Startup: time.Second, Work: 5 * time.Second},
			{UID: "a", Startup: 2 * time.Second, Work: 2 * time.Second},
			{UID: "killed-starting", Startup: 3 * time.Second},
			{UID: "killed-running", Startup: 3 * time.Second, Work: time.Hour},
			{UID: "forgotten", Startup: time.Hour},
		} {
			if err := m.Bind(p); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2500 * time.Millisecond)
		m.Kill("killed-starting")
		m.Kill("nobody")
		time.Sleep(time.Second)
		m.Kill("killed-running")
		m.Kill("killed-running")
		if most := m.MostHeld(); most != 5 {
			t.Errorf("got at most %d held pods, want 5", most)
		}
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour) // nothing more must happen
		want := []step{
			{At: time.Second, Running: []string{"b"}},
			{At: time.Second, UID: "b", Phase: simnode.Running},
			{At: 2 * time.Second, Running: []string{"a", "b"}},
			{At: 2 * time.Second, UID: "a", Phase: simnode.Running},
			{At: 3 * time.Second, Running: []string{"a", "b", "killed-running"}},
			{At: 3 * time.Second, UID: "killed-running", Phase: simnode.Running},
			{At: 3500 * time.Millisecond, Running: []string{"a", "b"}},
			{At: 4 * time.Second, Running: []string{"b"}},
			{At: 4 * time.Second, UID: "a", Phase: simnode.Succeeded},
			{At: 6 * time.Second, Running: []string{}},
			{At: 6 * time.Second, UID: "b", Phase: simnode.Succeeded},
		}
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	})
}

// A pod may be killed while the kubelet is being notified that it runs.
func TestTimedKilledBeforeItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := simnode.NewTimed(simnode.NodeSpec{Name: "mine"}, nil)
		if err := m.Bind(simnode.Pod{UID: "a"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it runs, and its event was not delivered
		m.Kill("a")
		ctx, cancel := context.WithCancel(t.Context())
		transitions := make(chan simnode.Transition, 10)
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx, func(tr simnode.Transition) { transitions <- tr }) }()
		time.Sleep(time.Hour)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(transitions)
		for tr := range transitions {
			if tr.Phase != simnode.Running {
				t.Errorf("killed pod: got %+v", tr)
			}
		}
	})
}

func TestTimedRefuses(t *testing.T) {
	m := simnode.NewTimed(simnode.NodeSpec{Name: "mine"}, nil)
	if err := m.Bind(simnode.Pod{UID: "a", Startup: time.Hour}); err != nil {
		t.Fatal(err)
	}
	defer m.Kill("a")
	if err := m.Bind(simnode.Pod{UID: "a"}); !errors.Is(err, simnode.ErrDuplicatePod) {
		t.Errorf("the same pod again: got error %v", err)
	}
	var name *field.Error
	if err := m.Bind(simnode.Pod{UID: "b", Work: -1}); !errors.As(err, &name) || name.Field != "Work" || !errors.Is(err, simnode.ErrBadPod) {
		t.Errorf("negative work: got error %v", err)
	}
	if m.MostHeld() != 1 {
		t.Errorf("got %d held refused pods", m.MostHeld())
	}
}
