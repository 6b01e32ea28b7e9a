package backend

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// The objects as outside programs see them. They are made of the cache's objects, which are
// shared and not modified.

func metaOf(o metav1.Object) wire.Meta {
	created := o.GetCreationTimestamp()
	return wire.Meta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
		Created: timeOf(&created), Deleting: o.GetDeletionTimestamp() != nil,
	}
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

func conditionsOf(all []metav1.Condition) []wire.Condition {
	var out []wire.Condition
	for _, c := range all {
		out = append(out, wire.Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.UTC(),
		})
	}
	return out
}

func testbedOf(tb *v1alpha1.Testbed) wire.Testbed {
	c := tb.Status.Counts
	t := wire.Testbed{Meta: metaOf(tb), Nodes: len(tb.Status.Nodes), Counts: wire.Counts{
		Slots: int(c.Slots), Pending: int(c.Pending), Free: int(c.Free),
		Reserved: int(c.Reserved), Occupied: int(c.Occupied), Retiring: int(c.Retiring),
	}}
	switch ready := meta.FindStatusCondition(tb.Status.Conditions, v1alpha1.TestbedReady); {
	case ready == nil:
		t.Message = "spazio-testbed has not looked at it yet"
	case ready.Status == metav1.ConditionTrue:
		t.Ready = true
	default:
		t.Reason, t.Message = ready.Reason, ready.Message
	}
	return t
}

func jobOf(job *v1alpha1.BatchJob) wire.Job {
	j := wire.Job{
		Meta: metaOf(job), Kind: kindOf(job), State: string(cmp.Or(job.Status.State, v1alpha1.BatchJobReady)),
		Reason: job.Status.Reason, External: rawOf(job.Spec.ExternalScheduler), Conditions: conditionsOf(job.Status.Conditions),
	}
	if active := job.Status.ActiveScheduling; active != nil {
		j.ActiveScheduling = active.Namespace + "/" + active.Name
	}
	if r := job.Status.CreationRequest; r != nil {
		j.CreationRequest = &wire.CreationRequest{
			Testbed: r.Testbed.Namespace + "/" + r.Testbed.Name, Slots: r.Slots,
			Replication: int(r.Replication), Attempt: int(r.Attempt),
		}
	}
	for i := range job.Status.Runs {
		r := &job.Status.Runs[i]
		j.Runs = append(j.Runs, wire.Run{
			Scheduling: r.Scheduling, Testbed: r.Testbed, Slots: r.Slots, Attempt: int(r.Attempt),
			Submitted: timeOf(r.Submitted), Scheduled: timeOf(r.Scheduled), Started: timeOf(r.Started), Finished: timeOf(r.Finished),
			Outcome: string(r.Outcome), Reason: r.Reason,
		})
	}
	return j
}

// kindOf is the kind of what runs the job; empty if nothing can.
func kindOf(job *v1alpha1.BatchJob) string {
	adapter, err := workload.Of(&job.Spec)
	if err != nil {
		return ""
	}
	return adapter.Kind().Kind
}

func rawOf(r *runtime.RawExtension) json.RawMessage {
	if r == nil || len(r.Raw) == 0 {
		return nil
	}
	return r.Raw
}

func schedulingOf(s *v1alpha1.Scheduling) wire.Scheduling {
	w := wire.Scheduling{
		Meta: metaOf(s), SchedulingSpec: specOf(s), State: string(s.Status.State), Reason: s.Status.Reason, Conditions: conditionsOf(s.Status.Conditions),
		Started: timeOf(s.Status.Started), Completed: timeOf(s.Status.Completed), Author: s.Annotations[v1alpha1.AnnotationAuthor],
	}
	for i := range s.Status.Jobs {
		j := &s.Status.Jobs[i]
		w.Jobs = append(w.Jobs, wire.SchedulingJob{Job: j.Namespace + "/" + j.Name, State: string(j.State), Reason: j.Reason, Slots: j.Slots})
	}
	return w
}

func specOf(s *v1alpha1.Scheduling) wire.SchedulingSpec {
	w := wire.SchedulingSpec{
		Testbed: s.TestbedKey().String(), Priority: s.Spec.Priority, Exclusive: s.Spec.Exclusive,
		Confirm: string(cmp.Or(s.Spec.Confirm, v1alpha1.ConfirmNone)), OnFailure: string(cmp.Or(s.Spec.OnFailure, v1alpha1.OnFailureContinue)),
		TTLSecondsAfterFinished: s.Spec.TTLSecondsAfterFinished,
	}
	name := func(namespace, name string) string { return cmp.Or(namespace, s.Namespace) + "/" + name }
	for _, job := range s.Spec.QueueBased {
		w.Queue = append(w.Queue, name(job.Namespace, job.Name))
	}
	if based := s.Spec.SlotBased; based != nil {
		w.Slots = &wire.SlotBased{Mode: string(cmp.Or(based.Mode, v1alpha1.Strict)), Jobs: make([]wire.SlotJob, len(based.Jobs))}
		for i := range based.Jobs {
			job := &based.Jobs[i]
			w.Slots.Jobs[i] = wire.SlotJob{Job: name(job.Namespace, job.Name), Slots: make([]slot.Ref, len(job.Slots))}
			for k, ref := range job.Slots {
				w.Slots.Jobs[i].Slots[k] = refOf(ref)
			}
		}
	}
	return w
}

// refOf is a slot as it is named. An API server takes numbers and positions that no slot
// can have: they stay such.
func refOf(r v1alpha1.SlotReference) slot.Ref {
	if ref, err := slot.ParseRef(r.Text); err == nil {
		return ref
	}
	if node, position, ok := strings.Cut(r.Text, "/"); ok {
		if n, err := strconv.Atoi(position); err == nil && node != "" {
			return slot.Ref{ID: slot.ID{Node: node, Position: n}}
		}
	}
	return slot.Ref{Index: math.MaxInt32}
}
