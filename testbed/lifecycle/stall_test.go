package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// running returns a job that has run since epoch with both its pods.
func running() lifecycle.JobObserved {
	o, _ := observed(stored(lifecycle.Running, ""), "wanted", "active", "running", "c")
	o.Stored.Runs[0].Application = "app"
	return o
}

// follow steps the job every minute for a span of constant observations, and returns when it left the
// state Running, 0 if it did not.
func follow(o *lifecycle.JobObserved, span time.Duration) time.Duration {
	for after := time.Duration(0); after <= span; after += time.Minute {
		o.Stored, _ = lifecycle.StepJob(*o, epoch.Add(after))
		if o.Stored.State != lifecycle.Running {
			return after
		}
	}
	return 0
}

// A run without its application or pods fails after the limit and releases its slots; one that makes
// progress runs as long as it needs.
func TestRunWithoutProgressFails(t *testing.T) {
	none := func(o *lifecycle.JobObserved) { o.Pods.Alive, o.Pods.Live = 0, 0 }
	month := 30 * 24 * time.Hour
	for name, test := range map[string]struct {
		change  func(*lifecycle.JobObserved)
		timeout time.Duration
		want    time.Duration
	}{
		"runs on":                          {func(*lifecycle.JobObserved) {}, 0, 0},
		"one of two pods runs":             {func(o *lifecycle.JobObserved) { o.Pods.Alive, o.Pods.Live = 1, 1 }, 0, 0},
		"no pod, reported as running":      {none, 0, 10 * time.Minute},
		"no pod, pending":                  {func(o *lifecycle.JobObserved) { none(o); o.Application.Phase = lifecycle.Pending }, 0, 10 * time.Minute},
		"pods, pending":                    {func(o *lifecycle.JobObserved) { o.Application.Phase = lifecycle.Pending }, 0, 10 * time.Minute},
		"its own stallTimeout":             {none, 2 * time.Hour, 2 * time.Hour},
		"pods ended, its end not reported": {func(o *lifecycle.JobObserved) { none(o); o.Pods.EndedAt = epoch.Add(-time.Hour) }, 0, 10 * time.Minute},
		"pods ended by a clock ahead":      {func(o *lifecycle.JobObserved) { none(o); o.Pods.EndedAt = epoch.Add(month) }, 0, 10 * time.Minute},
		"its deletion hangs":               {func(o *lifecycle.JobObserved) { none(o); o.Application.Deleting, o.Application.DeletedAt = true, epoch }, 0, 10 * time.Minute},
		"a pod that was never to run":      {func(o *lifecycle.JobObserved) { o.Pods.Alive, o.Pods.Live = 0, 2 }, 0, 10 * time.Minute},
		"all pods on a node that is off":   {func(o *lifecycle.JobObserved) { o.Pods.Alive = 0 }, 0, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			o := running()
			o.StallTimeout = test.timeout
			test.change(&o)
			if got := follow(&o, month); got != test.want {
				t.Fatalf("got left Running after %v, want %v", got, test.want)
			}
			if test.want == 0 {
				return
			}
			reason := o.Stored.Runs[0].Reason
			if o.Stored.State != lifecycle.Failed || o.Stored.Runs[0].Outcome != lifecycle.RunFailed || !strings.HasPrefix(reason, "Stalled: ") {
				t.Errorf("%v, run %+v", o.Stored.State, o.Stored.Runs[0])
			}
		})
	}
}

// The status shows the limit and what is missing while the run is stalled, the job is checked again
// when the limit ends, and a run that recovers before gets a full limit again.
func TestStalledRunRecovers(t *testing.T) {
	o := running()
	o.Pods.Alive, o.Pods.Live, o.Application.State = 0, 0, "RECONCILING: JobManager MISSING"
	j, actions := lifecycle.StepJob(o, epoch)
	const want = "Stalled: the application is RECONCILING: JobManager MISSING, and 0 of 2 pods run; the run fails at 2026-01-01T00:10:00Z (stallTimeout 10m0s)"
	if j.Reason != want || j.State != lifecycle.Running {
		t.Errorf("%v, %q, want %q", j.State, j.Reason, want)
	}
	if len(actions) != 1 || actions[0].Op != lifecycle.WakeJob || !actions[0].At.Equal(epoch.Add(10*time.Minute)) {
		t.Errorf("actions %+v", actions)
	}
	for round := range 5 {
		start := epoch.Add(time.Duration(round) * time.Hour)
		o.Pods.Alive, o.Pods.Live = 0, 0
		o.Stored, _ = lifecycle.StepJob(o, start)
		o.Stored, _ = lifecycle.StepJob(o, start.Add(9*time.Minute))
		o.Pods.Alive, o.Pods.Live = 2, 2
		o.Stored, _ = lifecycle.StepJob(o, start.Add(11*time.Minute))
		if o.Stored.State != lifecycle.Running || o.Stored.Reason != "" || !o.Stored.StalledSince.IsZero() {
			t.Fatalf("round %d: %+v", round, o.Stored)
		}
	}
}

// Pods end shortly before their application reports it, which is no stall.
func TestEndOfPodsIsNoStall(t *testing.T) {
	o := running()
	o.Pods.Alive, o.Pods.Live, o.Pods.EndedAt = 0, 0, epoch
	j, actions := lifecycle.StepJob(o, epoch.Add(time.Second))
	if j.State != lifecycle.Running || j.Reason != "" || len(actions) != 1 || actions[0].Op != lifecycle.WakeJob {
		t.Fatalf("%v %q %+v", j.State, j.Reason, actions)
	}
	o.Stored = j
	if j, _ = lifecycle.StepJob(o, actions[0].At); j.StalledSince.IsZero() {
		t.Error("a missing end of the application was not recorded")
	}
}

// The slots of a stalled run are finally freed even if the deletion of its application never completes,
// since what should complete it is gone; and so is the job, when it is released.
func TestStuckDeletionKeepsNoSlots(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		o := running()
		o.Pods = lifecycle.Pods{}
		o.Application.Phase = lifecycle.Pending
		follow(&o, time.Hour)
		deleted := epoch.Add(time.Hour)
		o.Application.Deleting, o.Application.DeletedAt, o.Wanted = true, deleted, wanted
		frees := func(at time.Time) bool {
			j, actions := lifecycle.StepJob(o, at)
			o.Stored = j
			for _, a := range actions {
				if a.Op == lifecycle.FreeSlots {
					return true
				}
			}
			return false
		}
		if frees(deleted.Add(9 * time.Minute)) {
			t.Fatal("freed while the application may still be deleted")
		}
		o.Pods.Live = 1
		if frees(deleted.Add(time.Hour)) {
			t.Fatal("freed beside a live pod")
		}
		o.Pods.Live = 0
		if !frees(deleted.Add(time.Hour)) {
			t.Fatal("never freed")
		}
		o.Claimed = false
		o.Stored, _ = lifecycle.StepJob(o, deleted.Add(time.Hour))
		if want := map[bool]lifecycle.JobState{true: lifecycle.Failed, false: lifecycle.Ready}[wanted]; o.Stored.State != want {
			t.Errorf("%v, want %v", o.Stored.State, want)
		}
	}
}

// The slots of a job are finally freed although its deleted pods remain: on a node that is off nothing
// completes their deletion. A pod that is not being deleted keeps them.
func TestStuckPodsKeepNoSlots(t *testing.T) {
	for _, state := range []lifecycle.JobState{lifecycle.Completed, lifecycle.Failed, lifecycle.Releasing} {
		hold := "wanted"
		if state == lifecycle.Releasing {
			hold = "unwanted"
		}
		o, _ := observed(stored(state, ""), hold, "absent", "lingering", "c")
		o.StallTimeout = 20 * time.Minute
		frees := func(at time.Time) (frees bool, wakes time.Time) {
			_, actions := lifecycle.StepJob(o, at)
			for _, a := range actions {
				switch a.Op {
				case lifecycle.FreeSlots:
					frees = true
				case lifecycle.WakeJob:
					wakes = a.At
				}
			}
			return frees, wakes
		}
		month := 30 * 24 * time.Hour
		if got, _ := frees(epoch.Add(month)); got {
			t.Errorf("%v: freed beside a pod that is not being deleted", state)
		}
		o.Pods.DeletedAt = epoch
		got, wakes := frees(epoch.Add(19 * time.Minute))
		if got || !wakes.Equal(epoch.Add(20*time.Minute)) {
			t.Errorf("%v: before the limit: got freed %v, next check at %v", state, got, wakes)
		}
		if got, _ := frees(epoch.Add(20 * time.Minute)); !got {
			t.Errorf("%v: never freed", state)
		}
	}
}
