package testbeds

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// hold adds the test's finalizer to a job's child, or removes it.
func (r *rig) hold(job, finalizers string) {
	r.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`))
	if err := r.objects.Patch(r.Context(), r.childOf(job), patch); err != nil {
		r.Fatal(err)
	}
}

// stages bring a job of one slot to each state; some claim a slot until the test releases it.
var stages = []struct {
	state   v1alpha1.BatchJobState
	claimed bool
	edit    func(*v1alpha1.BatchJobSpec)
}{
	{v1alpha1.BatchJobReady, false, nil},
	{v1alpha1.BatchJobInQueue, true, func(*v1alpha1.BatchJobSpec) {}},
	{v1alpha1.BatchJobSubmitted, true, nowhere},
	{v1alpha1.BatchJobScheduled, true, slow},
	{v1alpha1.BatchJobRunning, true, func(*v1alpha1.BatchJobSpec) {}},
	{v1alpha1.BatchJobCompleted, false, pods(forever, "0.01")},
	{v1alpha1.BatchJobFailed, false, fail},
	{v1alpha1.BatchJobReleasing, true, func(*v1alpha1.BatchJobSpec) {}},
}

// arrange brings the job "job" into the state, by the Scheduling "first" in the single slot of the
// Testbed "bed"; if it waits in the queue, "blocker" has that slot.
func (r *rig) arrange(state v1alpha1.BatchJobState, edit func(*v1alpha1.BatchJobSpec)) {
	r.Helper()
	r.testbed("bed", 1)
	if edit == nil {
		r.job("job", forever)
	} else {
		r.job("job", forever, edit)
	}
	switch state {
	case v1alpha1.BatchJobReady:
		r.waitJob("job", state)
		return
	case v1alpha1.BatchJobInQueue:
		r.job("blocker", forever)
		r.queue("blocker", "bed", []string{"blocker"})
		r.waitJob("blocker", v1alpha1.BatchJobRunning)
	}
	r.queue("first", "bed", []string{"job"})
	if state != v1alpha1.BatchJobReleasing {
		r.waitJob("job", state)
		return
	}
	r.waitJob("job", v1alpha1.BatchJobRunning)
	r.hold("job", `["example.com/hold"]`)
	r.delete(&v1alpha1.Scheduling{}, "first")
	r.waitJob("job", state)
}

// gone waits for the deletion of an object.
func (r *rig) gone(o client.Object, name string) {
	r.Helper()
	r.eventually(name+" is gone", func() (bool, any) {
		err := r.objects.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, o)
		return apierrors.IsNotFound(err), o
	})
}

// release releases what arrange holds.
func (r *rig) release(state v1alpha1.BatchJobState) {
	r.Helper()
	if state == v1alpha1.BatchJobReleasing {
		r.hold("job", `null`)
	}
}

// A Scheduling, a job or a Testbed may be deleted in any state of its job. A Scheduling releases its
// job first, a job's application and claim are deleted with it, and a Testbed waits for its claims.
func TestDeleteAnywhere(t *testing.T) {
	r := newRig(t, 1)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	for _, stage := range stages {
		deleted := map[string]func(){
			"Scheduling": func() {
				r.delete(&v1alpha1.Scheduling{}, "first")
				r.release(stage.state)
				r.gone(&v1alpha1.Scheduling{}, "first")
				r.waitJob("job", v1alpha1.BatchJobReady)
			},
			"BatchJob": func() {
				r.delete(&v1alpha1.BatchJob{}, "job")
				r.release(stage.state)
				r.gone(&v1alpha1.BatchJob{}, "job")
			},
			"Testbed": func() {
				r.delete(&v1alpha1.Testbed{}, "bed")
				// Without a claim it may be gone at once.
				if stage.claimed {
					r.waitCondition("bed", v1alpha1.TestbedDeleting, string(metav1.ConditionTrue), "", r.testbedConditions("bed"))
				}
				r.release(stage.state)
				for _, scheduling := range []string{"first", "blocker"} {
					r.delete(&v1alpha1.Scheduling{}, scheduling)
				}
				r.gone(&v1alpha1.Testbed{}, "bed")
				r.waitJob("job", v1alpha1.BatchJobReady)
			},
		}
		for _, kind := range []string{"Scheduling", "BatchJob", "Testbed"} {
			r.arrange(stage.state, stage.edit)
			deleted[kind]()
			if kind != "Testbed" && stage.state != v1alpha1.BatchJobInQueue {
				r.waitCounts("bed", 1, 0, 0)
			}
			r.finish()
			if t.Failed() {
				t.Fatalf("%s deleted while its job was %s", kind, stage.state)
			}
		}
	}
}
