package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func name(n string) testbed.Name { return testbed.Name{Namespace: "lab", Name: n} }

func valid(job *v1alpha1.BatchJob, status metav1.ConditionStatus, reason string) *v1alpha1.BatchJob {
	job.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BatchJobValid, Status: status, Reason: reason, ObservedGeneration: job.Generation}}
	return job
}

// claimableNow is claimableIn with the slots of the Testbed's status.
func claimableNow(s *v1alpha1.Scheduling, tb *v1alpha1.Testbed, jobs jobLookup, now time.Time) (claim.Scheduling, bool, error) {
	in, err := presentOrder(tb)
	if err != nil {
		return claim.Scheduling{}, false, err
	}
	return claimableIn(s, tb, in, jobs, now)
}

// granted returns the names of the jobs that may be granted slots.
func granted(c claim.Scheduling) []string {
	var all []string
	for _, job := range c.Request.Jobs() {
		if _, may := c.JobUIDs[job]; may {
			all = append(all, job.Name)
		}
	}
	return all
}

func TestClaimable(t *testing.T) {
	now := epoch.Add(time.Minute)
	inQueue := func(name string) *v1alpha1.BatchJob { return acquired(newJob(name), v1alpha1.BatchJobInQueue) }
	later := inQueue("b")
	later.Status.NotBefore = &metav1.Time{Time: now.Add(time.Second)}
	spent := inQueue("b")
	spent.Status.CreationRequest = &v1alpha1.CreationRequest{Slots: []string{"node-a/0"}, Replication: 1, Attempt: 1}
	elsewhere := inQueue("b")
	elsewhere.Status.ActiveScheduling.UID = "another"
	edited := valid(inQueue("b"), metav1.ConditionTrue, "Accepted")
	edited.Generation = 2
	each := newQueue("a", "b")
	each.Spec.Confirm = v1alpha1.ConfirmEach
	each.Status = v1alpha1.SchedulingStatus{State: v1alpha1.SchedulingConfirming, Started: &metav1.Time{Time: epoch}}
	refused := newQueue("a", "b")
	refused.Status.Conditions = []metav1.Condition{{Type: v1alpha1.SchedulingFeasible, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotAllowed}}
	infeasible := newQueue("a", "b")
	infeasible.Status.Conditions = []metav1.Condition{{Type: v1alpha1.SchedulingFeasible, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTooManySlots}}
	gone := newQueue("a", "b")
	gone.DeletionTimestamp = &metav1.Time{Time: epoch}
	failed := newQueue("a", "b")
	failed.Status.State = v1alpha1.SchedulingFailed
	claimed := newTestbed(2)
	claimed.Status.Claims = []v1alpha1.Claim{{BatchJobUID: "uid-a", BatchJob: "lab/a", Scheduling: "lab/first", SchedulingUID: "uid-first", Slots: []string{"node-a/0"}}}
	leaving := newTestbed(2)
	leaving.DeletionTimestamp = &metav1.Time{Time: epoch}

	for _, test := range []struct {
		what string
		s    *v1alpha1.Scheduling
		tb   *v1alpha1.Testbed
		jobs []*v1alpha1.BatchJob
		want []string
	}{
		{"both", newQueue("a", "b", "a"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), inQueue("b")}, []string{"a", "b"}},
		{"one has yet to be acquired: nobody has started", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), newJob("b")}, nil},
		{"one has yet to come", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a")}, nil},
		{"one has yet to step", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), acquired(newJob("b"), v1alpha1.BatchJobReady)}, nil},
		{"one is another's", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), elsewhere}, nil},
		{"one waits to be tried again", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), later}, []string{"a"}},
		{"one has yet to let go of its last run's slots", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), spent}, []string{"a"}},
		{"one is about to be tried", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), valid(inQueue("b"), metav1.ConditionUnknown, "Unchecked")}, []string{"a"}},
		{"one was tried", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), valid(inQueue("b"), metav1.ConditionTrue, "Accepted")}, []string{"a", "b"}},
		{"one was tried, and edited", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), edited}, []string{"a"}},
		{"nobody runs one", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), valid(inQueue("b"), metav1.ConditionFalse, v1alpha1.ReasonOperatorMissing)}, []string{"a"}},
		{"one's webhook was missing the last time", newQueue("a", "b"), newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), valid(inQueue("b"), metav1.ConditionFalse, v1alpha1.ReasonWebhookMissing)}, []string{"a", "b"}},
		{"one has a claim", newQueue("a", "b"), claimed, []*v1alpha1.BatchJob{inQueue("a"), inQueue("b")}, []string{"b"}},
		{"one is to be confirmed", each, claimed, []*v1alpha1.BatchJob{acquired(newJob("a"), v1alpha1.BatchJobSubmitted), inQueue("b")}, nil},
		{"one is confirmed", each, claimed, []*v1alpha1.BatchJob{acquired(newJob("a"), v1alpha1.BatchJobScheduled), inQueue("b")}, []string{"b"}},
		{"the testbed refuses", refused, newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), inQueue("b")}, nil},
		{"it was infeasible: what fits goes on", infeasible, newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), inQueue("b")}, []string{"a", "b"}},
		{"it goes", gone, newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), inQueue("b")}, nil},
		{"it has failed", failed, newTestbed(2), []*v1alpha1.BatchJob{inQueue("a"), inQueue("b")}, nil},
		{"the testbed goes", newQueue("a", "b"), leaving, []*v1alpha1.BatchJob{inQueue("a"), inQueue("b")}, nil},
	} {
		got, ok, err := claimableNow(test.s, test.tb, lookup(test.jobs...), now)
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		if diff := cmp.Diff(test.want, granted(got)); diff != "" || ok != (test.want != nil) {
			t.Errorf("%s: %v %s", test.what, ok, diff)
		}
		for _, n := range test.want {
			if uid := got.JobUIDs[name(n)]; uid != "uid-"+n {
				t.Errorf("%s: the UID of %s is %q", test.what, n, uid)
			}
		}
		if ok && (got.UID != string(test.s.UID) || got.Name != name("first") || !got.Created.Equal(epoch)) {
			t.Errorf("%s: %+v", test.what, got)
		}
	}
}

// In a queue, and with mode Strict, no job is submitted before an earlier one that cannot be,
// whatever the cause; one that was submitted and is retried blocks nothing.
func TestClaimableInOrder(t *testing.T) {
	now := epoch.Add(time.Minute)
	inQueue := func(name string) *v1alpha1.BatchJob {
		return valid(acquired(newJob(name), v1alpha1.BatchJobInQueue), metav1.ConditionTrue, "Accepted")
	}
	retried := inQueue("a")
	retried.Status.Retries, retried.Status.NotBefore = 1, &metav1.Time{Time: now.Add(time.Hour)}
	failed := acquired(newJob("a"), v1alpha1.BatchJobFailed)
	for what, test := range map[string]struct {
		first           *v1alpha1.BatchJob
		strict, relaxed []string
	}{
		"all can be":        {inQueue("a"), []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		"no operator":       {valid(acquired(newJob("a"), v1alpha1.BatchJobInQueue), metav1.ConditionFalse, v1alpha1.ReasonOperatorMissing), nil, []string{"b", "c"}},
		"yet to be tried":   {valid(acquired(newJob("a"), v1alpha1.BatchJobInQueue), metav1.ConditionUnknown, "Unchecked"), nil, []string{"b", "c"}},
		"is tried again":    {retried, []string{"b", "c"}, []string{"b", "c"}},
		"has failed before": {failed, []string{"b", "c"}, []string{"b", "c"}},
		"was deleted":       {nil, []string{"b", "c"}, []string{"b", "c"}},
	} {
		jobs := []*v1alpha1.BatchJob{inQueue("b"), inQueue("c")}
		if test.first != nil {
			jobs = append(jobs, test.first)
		}
		placed := newPlaced(slotJob("a", 0), slotJob("b", 1), slotJob("c", 2))
		relaxed := placed.DeepCopy()
		relaxed.Spec.SlotBased.Mode = v1alpha1.Relaxed
		for form, s := range map[string]*v1alpha1.Scheduling{"queue": newQueue("a", "b", "c", "b"), "strict": placed, "relaxed": relaxed} {
			s.Status.State, s.Status.Started, s.Status.Acquired = v1alpha1.SchedulingSubmitting, &metav1.Time{Time: epoch}, []string{"lab/a", "lab/b", "lab/c"}
			want := test.strict
			if form == "relaxed" {
				want = test.relaxed
			}
			got, ok, err := claimableNow(s, newTestbed(2), lookup(jobs...), now)
			if err != nil || ok != (want != nil) {
				t.Errorf("%s, %s: %v, %v", what, form, ok, err)
			}
			if diff := cmp.Diff(want, granted(got)); diff != "" {
				t.Errorf("%s, %s: %s", what, form, diff)
			}
		}
	}
}

// Slots are named by their index in the Testbed's order, or by ID. A job some of whose slots do not
// exist asks for none, and no Scheduling can keep the others of the Testbed from being served.
func TestClaimablePlacements(t *testing.T) {
	inQueue := acquired(newJob("a"), v1alpha1.BatchJobInQueue)
	a, b := func(i int) slot.ID { return slot.ID{Node: "node-a", Position: i} }, func(i int) slot.ID { return slot.ID{Node: "node-b", Position: i} }
	twice := slotJob("a", 3)
	twice.Namespace = "lab"
	for _, test := range []struct {
		what string
		jobs []v1alpha1.SlotJob
		want []slot.ID
	}{
		{"by index: both first slots come before the second ones", []v1alpha1.SlotJob{slotJob("a", 0, 1, 2)}, []slot.ID{a(0), b(0), a(1)}},
		{"by name", []v1alpha1.SlotJob{slotJob("a", "node-b/1")}, []slot.ID{b(1)}},
		{"by both", []v1alpha1.SlotJob{slotJob("a", "node-b/1", 0)}, []slot.ID{b(1), a(0)}},
		{"there is no such index", []v1alpha1.SlotJob{slotJob("a", 0, 4)}, nil},
		{"there is no such name yet", []v1alpha1.SlotJob{slotJob("a", 0, "node-c/0")}, []slot.ID{a(0), {Node: "node-c"}}},
		{"no slot is named so", []v1alpha1.SlotJob{slotJob("a", "node-c/999")}, nil},
		{"one slot by two names", []v1alpha1.SlotJob{slotJob("a", 0, "node-a/0")}, nil},
		{"one job by two names: the first counts", []v1alpha1.SlotJob{slotJob("a", 1), twice}, []slot.ID{b(0)}},
		{"too large", []v1alpha1.SlotJob{{Name: "a", Slots: []v1alpha1.SlotReference{{Text: "99999999999999999999"}}}}, nil},
	} {
		s := newPlaced(test.jobs...)
		got, ok, err := claimableNow(s, newTestbed(2), lookup(inQueue), epoch)
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", test.what, ok, err)
			continue
		}
		want := claim.Request{Placements: []claim.Placement{{Job: name("a"), Slots: test.want}}}
		if diff := cmp.Diff(want, got.Request); diff != "" {
			t.Errorf("%s: %s", test.what, diff)
		}
		if _, err := new(claim.Table).Grant([]claim.Scheduling{got}, nil, nil, epoch); err != nil {
			t.Errorf("%s: %v", test.what, err)
		}
	}
	relaxed := newPlaced(slotJob("a", 0))
	relaxed.Spec.SlotBased.Mode = v1alpha1.Relaxed
	relaxed.Spec.Priority, relaxed.Spec.Exclusive = 7, true
	got, _, err := claimableNow(relaxed, newTestbed(1), lookup(inQueue), epoch)
	if err != nil || !got.Request.Relaxed || !got.Exclusive || got.Priority != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A stored state that no controller writes is an error of that Scheduling.
func TestClaimableRefused(t *testing.T) {
	s := newQueue("a")
	s.Status.State = "Sleeping"
	if _, ok, err := claimableNow(s, newTestbed(1), lookup(), epoch); ok || err == nil {
		t.Errorf("%v, %v", ok, err)
	}
	job := acquired(newJob("a"), "Sleeping")
	if _, ok, err := claimableNow(newQueue("a"), newTestbed(1), lookup(job), epoch); ok || err == nil {
		t.Errorf("%v, %v", ok, err)
	}
	job = acquired(newJob("a"), v1alpha1.BatchJobInQueue)
	job.UID = ""
	if _, ok, err := claimableNow(newQueue("a"), newTestbed(1), lookup(job), epoch); ok || err == nil {
		t.Errorf("a job without a UID: %v, %v", ok, err)
	}
	broken := newTestbed(1)
	broken.Status.Nodes[0].Name = ""
	if _, ok, err := claimableNow(newQueue("a"), broken, lookup(job), epoch); ok || err == nil {
		t.Errorf("a node without a name: %v, %v", ok, err)
	}
}

func everybody(string, *v1alpha1.AllowedNamespaces) (bool, string) { return true, "" }

func TestFeasible(t *testing.T) {
	jobs := lookup(newJob("a"), newJob("b"), newJob("c"))
	refuse := func(own string) admits {
		return func(namespace string, _ *v1alpha1.AllowedNamespaces) (bool, string) {
			return namespace != own, "says no"
		}
	}
	auto := newTestbed(1)
	auto.Spec.SlotsPerNode = intstr.FromString(v1alpha1.SlotsAuto)
	leaving := newTestbed(2)
	leaving.DeletionTimestamp = &metav1.Time{Time: epoch}
	had := newQueue("a", "gone")
	had.Status.Acquired = []string{"lab/gone"}
	had.Status.Completed = &metav1.Time{Time: epoch}
	elsewhere := newQueue("a")
	elsewhere.Spec.QueueBased[0].Namespace = "far"
	for _, test := range []struct {
		what    string
		s       *v1alpha1.Scheduling
		tb      *v1alpha1.Testbed
		consent admits
		reason  string
		message string
	}{
		{"all is there", newQueue("a", "b", "a", "c"), newTestbed(2), everybody, "", ""},
		{"no testbed", newQueue("a"), nil, everybody, v1alpha1.ReasonUnknownTestbed, "there is no Testbed lab/small"},
		{"a testbed that goes", newQueue("a"), leaving, everybody, v1alpha1.ReasonUnknownTestbed, "the Testbed lab/small is being deleted"},
		{"no job", newQueue("a", "x"), newTestbed(2), everybody, v1alpha1.ReasonUnknownJob, "there is no BatchJob lab/x"},
		{"many missing", newQueue("v", "w", "x", "y", "z"), newTestbed(3), everybody, v1alpha1.ReasonUnknownJob, "there is no BatchJob lab/v, lab/w, lab/x and 2 more"},
		{"a job that it had is gone", had, newTestbed(2), everybody, "", ""},
		{"a job elsewhere", elsewhere, newTestbed(2), everybody, v1alpha1.ReasonUnknownJob, "there is no BatchJob far/a"},
		{"the testbed refuses", newQueue("a"), newTestbed(2), refuse("lab"), v1alpha1.ReasonNotAllowed, "the Testbed lab/small says no"},
		{"a queue of more than there is", newQueue("a", "a", "a"), newTestbed(1), everybody, v1alpha1.ReasonTooManySlots, "the BatchJob lab/a takes 3 slots, and the Testbed has 2"},
		{"one after the other it goes", newQueue("a", "a", "b", "b"), newTestbed(1), everybody, "", ""},
		{"no slots at all", newQueue("a"), newTestbed(0), everybody, v1alpha1.ReasonTooManySlots, "the BatchJob lab/a takes 1 slots, and the Testbed has 0"},
		{"slots that may come", newQueue("a", "a", "a"), auto, everybody, "", ""},
		{"slots by index", newPlaced(slotJob("a", 0, 3), slotJob("b", 1)), newTestbed(2), everybody, "", ""},
		{"an index too many", newPlaced(slotJob("a", 0), slotJob("b", 4)), newTestbed(2), everybody, v1alpha1.ReasonUnknownSlot, "slot 4 of the BatchJob lab/b is none of the Testbed's 4, or named twice"},
		{"a node too many", newPlaced(slotJob("a", "node-c/0")), newTestbed(2), everybody, v1alpha1.ReasonUnknownSlot, "slot node-c/0 of the BatchJob lab/a is none of the Testbed's 4, or named twice"},
		{"a position too many", newPlaced(slotJob("a", "node-a/2")), newTestbed(2), everybody, v1alpha1.ReasonUnknownSlot, "slot node-a/2 of the BatchJob lab/a is none of the Testbed's 4, or named twice"},
		{"a position that may come", newPlaced(slotJob("a", "node-a/15")), auto, everybody, "", ""},
		{"one slot twice", newPlaced(slotJob("a", 0, "node-a/0")), newTestbed(2), everybody, v1alpha1.ReasonUnknownSlot, "slot node-a/0 of the BatchJob lab/a is none of the Testbed's 4, or named twice"},
		{"more than there are", newPlaced(slotJob("a", 0, 1, 2, 3)), newTestbed(1), everybody, v1alpha1.ReasonTooManySlots, "the BatchJob lab/a takes 4 slots, and the Testbed has 2"},
	} {
		v := schedulingView{Scheduling: test.s, Testbed: test.tb, Job: jobs}
		o, err := v.observe(epoch)
		if err != nil {
			t.Fatal(err)
		}
		got := v.feasibility(&o, test.consent)
		if diff := cmp.Diff(finding{Reason: test.reason, Message: test.message}, got); diff != "" || got.OK() != (test.reason == "") {
			t.Errorf("%s: %s", test.what, diff)
		}
	}
	// A job rejects a Scheduling that does not have it yet; the one that has it keeps it.
	s := newQueue("a")
	s.Spec.Testbed.Namespace = "far"
	tb := newTestbed(1)
	tb.Namespace = "far"
	for _, test := range []struct {
		job  *v1alpha1.BatchJob
		want string
	}{{newJob("a"), v1alpha1.ReasonNotAllowed}, {acquired(newJob("a"), v1alpha1.BatchJobInQueue), ""}} {
		v := schedulingView{Scheduling: s, Testbed: tb, Job: lookup(test.job)}
		o, err := v.observe(epoch)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.feasibility(&o, refuse("lab")); got.Reason != test.want {
			t.Errorf("%s: %+v", test.job.Status.State, got)
		}
	}
}

// A submitted job keeps its slots, and an edit of them is reported until it is undone; an index
// that now names another slot is no edit.
func TestSpecAccepted(t *testing.T) {
	for _, test := range []struct {
		what   string
		s      *v1alpha1.Scheduling
		has    []string
		known  int64 // the generation that was accepted before
		reason string
	}{
		{"as it was", newPlaced(slotJob("a", 0, "node-b/1")), []string{"node-a/0", "node-b/1"}, 0, ""},
		{"another order", newPlaced(slotJob("a", "node-b/1", 0)), []string{"node-a/0", "node-b/1"}, 0, ""},
		{"another slot", newPlaced(slotJob("a", 0, "node-b/0")), []string{"node-a/0", "node-b/1"}, 0, v1alpha1.ReasonSubmittedJobChanged},
		{"another index", newPlaced(slotJob("a", 1)), []string{"node-a/0"}, 0, v1alpha1.ReasonSubmittedJobChanged},
		{"another index, as nodes have changed", newPlaced(slotJob("a", 1)), []string{"node-a/0"}, 1, ""},
		{"an index that is gone", newPlaced(slotJob("a", 9)), []string{"node-a/0"}, 0, ""},
		{"one more", newPlaced(slotJob("a", 0, 1)), []string{"node-a/0"}, 0, v1alpha1.ReasonSubmittedJobChanged},
		{"a queue", newQueue("a", "b", "a"), []string{"node-a/0", "node-a/1"}, 0, ""},
		{"a longer queue", newQueue("a", "a", "a"), []string{"node-a/0", "node-a/1"}, 0, v1alpha1.ReasonSubmittedJobChanged},
		{"twice", newPlaced(slotJob("a", 0), v1alpha1.SlotJob{Name: "a", Namespace: "lab", Slots: slotJob("", 1).Slots}), nil, 0, v1alpha1.ReasonDuplicateJob},
	} {
		job := acquired(newJob("a"), v1alpha1.BatchJobInQueue)
		tb := newTestbed(2)
		if test.has != nil {
			job.Status.State = v1alpha1.BatchJobRunning
			tb.Status.Claims = []v1alpha1.Claim{{BatchJobUID: job.UID, BatchJob: "lab/a", Slots: test.has}}
		}
		if test.known > 0 {
			test.s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.SchedulingSpecAccepted, Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: test.known}}
		}
		v := schedulingView{Scheduling: test.s, Testbed: tb, Job: lookup(job)}
		o, err := v.observe(epoch)
		if err != nil {
			t.Fatal(err)
		}
		status := v.nextStatus(&o.Stored, &o, finding{}, epoch)
		if got := condition(status.Conditions, v1alpha1.SchedulingSpecAccepted); got != wantReason(test.reason, "Accepted") {
			t.Errorf("%s: %s", test.what, got)
		}
	}
}

// want formats a condition that is false for a reason, or true.
func wantReason(reason, otherwise string) string {
	if reason == "" {
		return "True " + otherwise
	}
	return "False " + reason
}

func condition(all []metav1.Condition, kind string) string {
	for _, c := range all {
		if c.Type == kind {
			return fmt.Sprintf("%s %s", c.Status, c.Reason)
		}
	}
	return "none"
}

// A Scheduling that was interrupted while taking its jobs comes first; otherwise the order is as
// always.
func TestApplicant(t *testing.T) {
	for _, test := range []struct {
		what  string
		jobs  []*v1alpha1.BatchJob
		since *metav1.Time
		first bool
		lacks []testbed.Name
	}{
		{"it has none", []*v1alpha1.BatchJob{newJob("a"), newJob("b")}, nil, false, []testbed.Name{name("a"), name("b")}},
		{"it has one", []*v1alpha1.BatchJob{acquired(newJob("a"), "InQueue"), newJob("b")}, nil, true, []testbed.Name{name("b")}},
		{"it has begun, and one was added", []*v1alpha1.BatchJob{acquired(newJob("a"), "InQueue"), newJob("b")}, &metav1.Time{Time: epoch}, false, []testbed.Name{name("b")}},
	} {
		s := newQueue("a", "b")
		s.Status.Started = test.since
		v := schedulingView{Scheduling: s, Testbed: newTestbed(1), Job: lookup(test.jobs...)}
		o, err := v.observe(epoch)
		if err != nil {
			t.Fatal(err)
		}
		got := applicantOf(s, &o)
		other := claim.Precedence{Priority: 1 << 30, Created: epoch.Add(-time.Hour)}
		if diff := cmp.Diff(test.lacks, got.Jobs); diff != "" || (got.Compare(other) < 0) != test.first {
			t.Errorf("%s: %+v", test.what, got)
		}
	}
}
