package backend_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var resource = schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: v1alpha1.Schedulings}

// The API server's refusal of a write is reported with the fields of the request.
func TestProblems(t *testing.T) {
	kind := v1alpha1.GroupVersion.WithKind("Scheduling").GroupKind()
	spec := field.NewPath("spec")
	invalid := func(errs ...*field.Error) error { return apierrors.NewInvalid(kind, "s", errs) }
	for name, test := range map[string]struct {
		err    error
		status int
		causes []wire.Cause
	}{
		"fields": {invalid(
			field.Required(spec.Child("queueBased").Index(2).Child("name"), ""),
			field.Duplicate(spec.Child("slotBased", "jobs").Index(1), "x"),
			field.Invalid(spec.Child("slotBased", "jobs").Index(3).Child("slots").Index(4), "X/1", "spec.slotBased.jobs[3].slots[4] in body should match"),
			field.NotSupported(spec.Child("slotBased", "mode"), "No", []string{"Strict"}),
			field.TooMany(spec.Child("queueBased"), 5001, 5000),
			field.Invalid(spec.Child("testbed"), "object", "must not change"),
			field.Invalid(spec, "object", "must have one of queueBased and slotBased"),
			field.Invalid(spec.Child("ttlSecondsAfterFinished"), -1, "too small"),
		), 422, []wire.Cause{
			{Field: "queue[2]", Reason: wire.Required, Message: "Required value"},
			{Field: "slots.jobs[1]", Reason: wire.Duplicate, Message: `Duplicate value: "x"`},
			{Field: "slots.jobs[3].slots[4]", Reason: wire.Invalid, Message: `Invalid value: "X/1": slots.jobs[3].slots[4] in body should match`},
			{Field: "slots.mode", Reason: wire.Unsupported, Message: `Unsupported value: "No": supported values: "Strict"`},
			{Field: "queue", Reason: wire.TooMany, Message: "Too many: 5001: must have at most 5000 items"},
			{Field: "testbed", Reason: wire.Invalid, Message: `Invalid value: "object": must not change`},
			{Field: "", Reason: wire.Invalid, Message: `Invalid value: "object": must have one of queue and slots`},
			{Field: "ttlSecondsAfterFinished", Reason: wire.Invalid, Message: "Invalid value: -1: too small"},
		}},
		"gone":      {apierrors.NewNotFound(resource, "s"), 404, nil},
		"quota":     {apierrors.NewForbidden(resource, "s", errors.New("exceeded quota")), 403, nil},
		"conflict":  {apierrors.NewConflict(resource, "s", errors.New("changed")), 412, nil},
		"too large": {apierrors.NewRequestEntityTooLargeError("5 MB"), 413, nil},
		"busy":      {apierrors.NewTooManyRequests("later", 3), 503, nil},
		"away":      {apierrors.NewServerTimeout(resource, "patch", 1), 503, nil},
	} {
		w := newWorld(t, interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return test.err
			},
		})
		_, err := w.store.ReplaceScheduling(t.Context(), server.Caller{}, "lab", "s", "7", wire.SchedulingSpec{Testbed: "bed", Queue: []string{"a"}})
		var p *wire.Problem
		if !errors.As(err, &p) || p.Status != test.status {
			t.Errorf("%s: %v, want %d", name, err, test.status)
			continue
		}
		if diff := cmp.Diff(test.causes, p.Causes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// An error that is no answer of the API server is an internal error.
	fault := errors.New("broken")
	w := newWorld(t, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return fault
		},
	})
	if _, err := w.store.ReplaceScheduling(t.Context(), server.Caller{}, "lab", "s", "", wire.SchedulingSpec{Testbed: "bed", Queue: []string{"a"}}); !errors.Is(err, fault) {
		t.Error(err)
	}
}

// A stored object reads as it was sent, whatever was left out.
func TestSpecs(t *testing.T) {
	ttl := int32(0)
	for name, spec := range map[string]wire.SchedulingSpec{
		"queue": {Testbed: "bed", Queue: []string{"a", "other/b", "lab/a"}, Priority: -3, TTLSecondsAfterFinished: &ttl},
		"slots": {
			Testbed: "other/bed", Exclusive: true, Confirm: wire.ConfirmEach, OnFailure: wire.Stop,
			Slots: &wire.SlotBased{Mode: wire.Relaxed, Jobs: []wire.SlotJob{
				{Job: "a", Slots: []slot.Ref{{Index: 4}, {ID: slot.ID{Node: "n.example", Position: 3}}}}, {Job: "other/a", Slots: []slot.Ref{{}}},
			}},
		},
	} {
		w := newWorld(t, interceptor.Funcs{})
		made, err := w.store.CreateScheduling(t.Context(), server.Caller{Name: "ann"}, "lab", name, spec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(spec.Normal("lab"), made.SchedulingSpec); diff != "" || made.Author != "ann" {
			t.Errorf("%s: by %q: %s", name, made.Author, diff)
		}
		there, err := w.store.CreateScheduling(t.Context(), server.Caller{Name: "bob"}, "lab", name, spec)
		var p *wire.Problem
		if !errors.As(err, &p) || p.Status != 409 || there.UID != made.UID || there.Author != "ann" {
			t.Errorf("%s twice: %+v, %v", name, there, err)
		}
	}
}

// A slot that cannot be named is shown as such, and the rest can still be read.
func TestForeignSlots(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	s := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "s"}}
	s.Spec.SlotBased = &v1alpha1.SlotBased{Jobs: []v1alpha1.SlotJob{{Name: "a", Slots: []v1alpha1.SlotReference{
		v1alpha1.SlotIndex(1), {Text: "99999999999999999999"}, {Text: "-1"}, v1alpha1.SlotID("n/999"), v1alpha1.SlotID("n/1"),
	}}}}
	w.schedulings.Add(s)
	w.start()
	w.eventually("it is read", func() bool {
		read, err := w.store.Scheduling(t.Context(), "lab", "s")
		if err != nil {
			return false
		}
		var got []string
		for _, ref := range read.Slots.Jobs[0].Slots {
			got = append(got, ref.String())
		}
		if diff := cmp.Diff([]string{"1", "2147483647", "2147483647", "n/999", "n/1"}, got); diff != "" {
			t.Error(diff)
		}
		return true
	})
}

// These are objects as clients get them.
func TestObjects(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	since := metav1.NewTime(time.Date(2026, 11, 23, 4, 0, 0, 0, time.FixedZone("CET", 3600)))
	utc := since.UTC()
	bed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "bed", UID: "u"}}
	bed.Status.Counts = v1alpha1.SlotCounts{Slots: 3, Free: 1, Reserved: 2}
	bed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.TestbedReady, Status: metav1.ConditionFalse, Reason: "NoNodes", Message: "none"}}
	job := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "a", UID: "j", DeletionTimestamp: &since, Finalizers: []string{"x/y"}}}
	job.Spec.SparkSpec = raw(`{}`)
	job.Spec.ExternalScheduler = raw(`{"n":1}`)
	job.Status = v1alpha1.BatchJobStatus{
		State: v1alpha1.BatchJobRunning, ActiveScheduling: &v1alpha1.ObjectReference{Namespace: "x", Name: "s"},
		CreationRequest: &v1alpha1.CreationRequest{Testbed: v1alpha1.ObjectReference{Namespace: "lab", Name: "bed"}, Slots: []string{"n/0"}, Replication: 1, Attempt: 2},
		Runs:            []v1alpha1.Run{{Scheduling: "x/s", Testbed: "lab/bed", Attempt: 1, Started: &since, Outcome: v1alpha1.Failed, Reason: "r"}},
		Conditions:      []metav1.Condition{{Type: "Valid", Status: "True", LastTransitionTime: since}},
	}
	w.testbeds.Add(bed)
	w.jobs.Add(job)
	w.start()
	w.eventually("all is read", func() bool {
		beds, err := w.store.Testbeds(t.Context(), "")
		jobs, err2 := w.store.Jobs(t.Context(), "lab")
		return err == nil && err2 == nil && len(beds) == 1 && len(jobs) == 1
	})
	gotBed, _ := w.store.Testbed(t.Context(), "lab", "bed")
	if diff := cmp.Diff(wire.Testbed{
		Meta: wire.Meta{Name: "bed", Namespace: "lab", UID: "u", ResourceVersion: gotBed.ResourceVersion}, Reason: "NoNodes", Message: "none",
		Counts: wire.Counts{Slots: 3, Free: 1, Reserved: 2},
	}, gotBed); diff != "" {
		t.Error(diff)
	}
	gotJob, _ := w.store.Job(t.Context(), "lab", "a")
	if diff := cmp.Diff(wire.Job{
		Meta: wire.Meta{Name: "a", Namespace: "lab", UID: "j", ResourceVersion: gotJob.ResourceVersion, Deleting: true},
		Kind: "SparkApplication", State: "Running", ActiveScheduling: "x/s",
		CreationRequest: &wire.CreationRequest{Testbed: "lab/bed", Slots: []string{"n/0"}, Replication: 1, Attempt: 2},
		External:        []byte(`{"n":1}`), Runs: []wire.Run{{Scheduling: "x/s", Testbed: "lab/bed", Attempt: 1, Started: &utc, Outcome: "Failed", Reason: "r"}},
		Conditions: []wire.Condition{{Type: "Valid", Status: "True", Since: utc}},
	}, gotJob); diff != "" {
		t.Error(diff)
	}
	for _, namespace := range []string{"lab", "none"} {
		if all, err := w.store.Schedulings(t.Context(), namespace); err != nil || len(all) != 0 {
			t.Error(all, err)
		}
	}
	var p *wire.Problem
	if _, err := w.store.Slots(t.Context(), "lab", "none"); !errors.As(err, &p) || p.Status != 404 {
		t.Error(err)
	}
	if _, err := w.store.Job(t.Context(), "lab", "none"); !errors.As(err, &p) || p.Status != 404 {
		t.Error(err)
	}
}

// Follow reports nothing before the cache is filled.
func TestUnsynced(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	var p *wire.Problem
	_, list := w.store.Jobs(t.Context(), "")
	_, one := w.store.Testbed(t.Context(), "lab", "bed")
	_, slots := w.store.Slots(t.Context(), "lab", "bed")
	_, plan := w.store.Plan(t.Context(), server.Caller{}, "lab", "s", wire.SchedulingSpec{})
	for _, err := range []error{w.store.Synced(), list, one, slots, plan} {
		if !errors.As(err, &p) || p.Status != 503 || p.RetryAfterSeconds == 0 {
			t.Errorf("%v", err)
		}
	}
	w.start()
	w.eventually("all is read", func() bool { return w.store.Synced() == nil })
}
