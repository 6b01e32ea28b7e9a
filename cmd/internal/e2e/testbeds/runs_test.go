package testbeds

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// The times of a run come from its objects: controllers that were down from the start of the pods to
// the end of the application report the same.
func TestRunTimesSurviveRestart(t *testing.T) {
	r := newRig(t, 1)
	r.schedule(nil)
	r.testbed("bed", 2)
	g := newGate(nil)
	doomed := r.control(controller.Options{}, g)
	r.waitCounts("bed", 2, 0, 0)
	r.job("job", "2.5")
	r.queue("first", "bed", []string{"job", "job"})
	r.eventually("the application is created, and noted", func() (bool, any) {
		a := r.getJob("job").Status.Application
		return a != nil && a.UID != "", a
	})
	doomed.kill(g)
	var finished time.Time
	r.eventually("the application is complete", func() (bool, any) {
		child := r.childOf("job")
		for _, c := range child.Status.Conditions {
			if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
				finished = c.LastTransitionTime.Time
				return true, nil
			}
		}
		return false, child.Status
	})
	var scheduled, started time.Time
	for _, pod := range r.pods(v1alpha1.RoleSlot) {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.LastTransitionTime.After(scheduled) {
				scheduled = c.LastTransitionTime.Time
			}
		}
		if s := pod.Status.ContainerStatuses[0].State; s.Terminated != nil && s.Terminated.StartedAt.After(started) {
			started = s.Terminated.StartedAt.Time
		}
	}
	submitted := r.childOf("job").CreationTimestamp.Time
	r.control(controller.Options{}, nil)
	r.waitJob("job", v1alpha1.BatchJobCompleted)
	runs := r.getJob("job").Status.Runs
	if len(runs) != 1 {
		t.Fatalf("runs %+v", runs)
	}
	run := runs[0]
	if run.Submitted == nil || run.Scheduled == nil || run.Started == nil || run.Finished == nil {
		t.Fatalf("got missing times: %+v", run)
	}
	got := []time.Time{run.Submitted.Time, run.Scheduled.Time, run.Started.Time, run.Finished.Time}
	if diff := cmp.Diff([]time.Time{submitted, scheduled, started, finished}, got); diff != "" {
		t.Errorf("submitted, scheduled, started, finished: %s", diff)
	}
	slices.Sort(run.Slots)
	if run.Outcome != v1alpha1.Succeeded || run.Attempt != 1 || run.Testbed != r.namespace+"/bed" || run.Scheduling != r.namespace+"/first" ||
		!slices.Equal(run.Slots, []string{r.slot(1, 0), r.slot(1, 1)}) {
		t.Errorf("run %+v", run)
	}
	r.finish()
}

// Data that an outside program stores in a job is kept, whatever happens to the job.
func TestBatchJobKeepsExternalData(t *testing.T) {
	r := newRig(t, 1)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 1)
	data := map[string]any{"M": map[string]any{"a": "24 (16)", "b": 1.5}, "list": []any{"x", nil, true, float64(1 << 40)}}
	r.job("job", "0.05", func(s *v1alpha1.BatchJobSpec) { s.ExternalScheduler = rawOf(t, data) })
	for i := range 2 {
		name := fmt.Sprint("scheduling-", i)
		r.queue(name, "bed", []string{"job"})
		r.waitScheduling(name, v1alpha1.SchedulingCompleted)
		job := r.getJob("job")
		var got map[string]any
		if err := json.Unmarshal(job.Spec.ExternalScheduler.Raw, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(data, got); diff != "" {
			t.Error(diff)
		}
		// A completed job belongs to its Scheduling, and may be written to.
		if a := job.Status.ActiveScheduling; a == nil || a.Name != name {
			t.Errorf("got active Scheduling %+v", a)
		}
		data["round"] = float64(i)
		update(r, "job", &v1alpha1.BatchJob{}, func(j *v1alpha1.BatchJob) { j.Spec.ExternalScheduler = rawOf(t, data) })
		r.delete(&v1alpha1.Scheduling{}, name)
		r.waitJob("job", v1alpha1.BatchJobReady)
	}
	if job := r.getJob("job"); job.Status.ActiveScheduling != nil || job.Status.CreationRequest != nil || len(job.Status.Runs) != 2 {
		t.Errorf("released: %+v", job.Status)
	}
	r.finish()
}

// slotsOfRun returns the slots of a job's last run, sorted.
func (r *rig) slotsOfRun(job string) []string {
	r.Helper()
	runs := r.getJob(job).Status.Runs
	if len(runs) == 0 {
		r.Fatalf("%s has not run", job)
	}
	return slices.Sorted(slices.Values(runs[len(runs)-1].Slots))
}

func (r *rig) wantSlots(job string, want ...string) {
	r.Helper()
	slices.Sort(want)
	if got := r.slotsOfRun(job); !slices.Equal(got, want) {
		r.Errorf("%s: got slots %v, want %v", job, got, want)
	}
}

// Entries of a queue get the lowest free slots in turn, position by position over the nodes; a job that
// does not fit waits, and those behind it, until there is room.
func TestSchedulingQueueBased(t *testing.T) {
	r := newRig(t, 2)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2)
	r.waitCounts("bed", 4, 0, 0)
	for _, name := range []string{"a", "b", "c", "d"} {
		r.job(name, forever)
	}
	// Indices 0 to 3 are node 1, node 2, node 1, node 2.
	r.queue("first", "bed", []string{"a", "b", "a", "c", "c", "d"})
	r.waitJob("a", v1alpha1.BatchJobRunning)
	r.waitJob("b", v1alpha1.BatchJobRunning)
	r.wantSlots("a", r.slot(1, 0), r.slot(1, 1))
	r.wantSlots("b", r.slot(2, 0))
	r.settle() // c needs two and there is one, d waits behind it
	r.waitJob("c", v1alpha1.BatchJobInQueue)
	r.waitJob("d", v1alpha1.BatchJobInQueue)
	r.delete(&v1alpha1.BatchJob{}, "b")
	r.waitJob("c", v1alpha1.BatchJobRunning)
	r.wantSlots("c", r.slot(2, 0), r.slot(2, 1))
	r.delete(&v1alpha1.BatchJob{}, "a")
	r.waitJob("d", v1alpha1.BatchJobRunning)
	// The slots of a's pods may become empty at different times.
	if got := r.slotsOfRun("d"); len(got) != 1 || got[0] != r.slot(1, 0) && got[0] != r.slot(1, 1) {
		t.Errorf("d: got slots %v", got)
	}
	r.finish()
}

// named creates a Scheduling of jobs and the indices of their slots.
func (r *rig) named(name string, mode v1alpha1.SlotMode, jobs []string, indices ...[]int) {
	r.Helper()
	r.queue(name, "bed", nil, func(s *v1alpha1.SchedulingSpec) {
		s.SlotBased = &v1alpha1.SlotBased{Mode: mode}
		for i, job := range jobs {
			j := v1alpha1.SlotJob{Name: job}
			for _, index := range indices[i] {
				j.Slots = append(j.Slots, v1alpha1.SlotIndex(index))
			}
			s.SlotBased.Jobs = append(s.SlotBased.Jobs, j)
		}
	})
}

// Jobs run in the named slots. In strict mode a job waits for all before it; in relaxed mode only for
// its slots.
func TestSchedulingSlotBased(t *testing.T) {
	for _, mode := range []v1alpha1.SlotMode{v1alpha1.Strict, v1alpha1.Relaxed} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t, 2)
			r.schedule(nil)
			r.control(controller.Options{}, nil)
			r.testbed("bed", 2)
			r.waitCounts("bed", 4, 0, 0)
			for _, name := range []string{"a", "b", "c"} {
				r.job(name, forever)
			}
			// b needs a slot of a's; c could run at once.
			r.named("first", mode, []string{"a", "b", "c"}, []int{3, 0}, []int{0, 1}, []int{2})
			r.waitJob("a", v1alpha1.BatchJobRunning)
			r.wantSlots("a", r.slot(1, 0), r.slot(2, 1))
			if mode == v1alpha1.Relaxed {
				r.waitJob("c", v1alpha1.BatchJobRunning)
			} else {
				r.settle()
				r.waitJob("c", v1alpha1.BatchJobInQueue)
			}
			r.waitJob("b", v1alpha1.BatchJobInQueue)
			r.delete(&v1alpha1.BatchJob{}, "a")
			r.waitJob("b", v1alpha1.BatchJobRunning)
			r.waitJob("c", v1alpha1.BatchJobRunning)
			r.wantSlots("b", r.slot(1, 0), r.slot(2, 0))
			r.wantSlots("c", r.slot(1, 1))
			r.finish()
		})
	}
}

// A Scheduling that confirms submits nothing more until all that it has submitted is bound. Added jobs
// are acquired and submitted, too; with completed jobs it completes, and it fails with a failed job if
// it is set to stop.
func TestSchedulingExtended(t *testing.T) {
	r := newRig(t, 1)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 3)
	r.waitCounts("bed", 3, 0, 0)
	r.job("a", forever, nowhere)
	r.job("b", forever)
	r.job("c", "0.05")
	r.queue("first", "bed", []string{"a"}, func(s *v1alpha1.SchedulingSpec) { s.Confirm = v1alpha1.ConfirmEach })
	r.waitJob("a", v1alpha1.BatchJobSubmitted)
	r.extend("first", "b")
	r.waitJob("b", v1alpha1.BatchJobInQueue)
	r.settle()
	r.waitJob("b", v1alpha1.BatchJobInQueue)
	r.patchNode(r.nodes[0], `{"metadata":{"labels":{"example.com/none":"none"}}}`)
	r.waitJob("b", v1alpha1.BatchJobRunning)
	r.waitScheduling("first", v1alpha1.SchedulingAwaitingCompletion)

	r.extend("first", "c")
	r.waitJob("c", v1alpha1.BatchJobCompleted)
	r.waitScheduling("first", v1alpha1.SchedulingAwaitingCompletion)
	r.delete(&v1alpha1.Scheduling{}, "first")
	for _, name := range []string{"a", "b", "c"} {
		r.waitJob(name, v1alpha1.BatchJobReady)
	}

	r.job("d", forever, fail)
	r.queue("stops", "bed", []string{"d", "b", "b", "b"}, func(s *v1alpha1.SchedulingSpec) { s.OnFailure = v1alpha1.OnFailureStop })
	r.waitJob("d", v1alpha1.BatchJobRunning, v1alpha1.BatchJobFailed)
	r.waitJob("d", v1alpha1.BatchJobFailed)
	r.waitScheduling("stops", v1alpha1.SchedulingFailed)
	r.settle()
	if state := r.getJob("b").Status.State; state != v1alpha1.BatchJobInQueue {
		t.Errorf("b: got state %s, want nothing more submitted", state)
	}
	r.delete(&v1alpha1.Scheduling{}, "stops")
	r.waitJob("b", v1alpha1.BatchJobReady)

	r.queue("goes-on", "bed", []string{"d", "c"})
	r.waitScheduling("goes-on", v1alpha1.SchedulingCompleted)
	r.wantStates(map[string]v1alpha1.BatchJobState{"d": v1alpha1.BatchJobFailed, "c": v1alpha1.BatchJobCompleted})
	r.finish()
}

// extend appends a job to a queue.
func (r *rig) extend(scheduling, job string) {
	r.Helper()
	update(r, scheduling, &v1alpha1.Scheduling{}, func(s *v1alpha1.Scheduling) {
		s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: job})
	})
}

func (r *rig) wantStates(want map[string]v1alpha1.BatchJobState) {
	r.Helper()
	for name, state := range want {
		if got := r.getJob(name).Status.State; got != state {
			r.Errorf("%s is %s, want %s", name, got, state)
		}
	}
}
