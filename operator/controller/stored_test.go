package controller

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var epoch = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// maker makes random stored states.
type maker struct{ *rand.Rand }

func (m maker) pick(of ...string) string { return of[m.IntN(len(of))] }

func (m maker) time() *metav1.Time {
	if m.IntN(3) == 0 {
		return nil
	}
	return &metav1.Time{Time: epoch.Add(time.Duration(m.IntN(1e6)) * time.Second)}
}

func (m maker) slots() []string {
	var all []string
	for i := range m.IntN(4) {
		all = append(all, fmt.Sprintf("node-%d/%d", m.IntN(9), i))
	}
	return all
}

func (m maker) jobStatus() v1alpha1.BatchJobStatus {
	s := v1alpha1.BatchJobStatus{
		State:  v1alpha1.BatchJobState(m.pick("Ready", "InQueue", "Submitted", "Scheduled", "Running", "Completed", "Failed", "Releasing")),
		Reason: m.pick("", "SubmitTimeout"), Retries: int32(m.IntN(10)), NotBefore: m.time(),
	}
	if m.IntN(2) == 0 {
		s.ActiveScheduling = &v1alpha1.ObjectReference{Namespace: "lab", Name: "first", UID: "5e1d"}
	}
	attempt := int32(m.IntN(100))
	for range m.IntN(60) {
		attempt++
		s.AddRun(v1alpha1.Run{
			Scheduling: "lab/first", Testbed: m.pick("lab/small", "lab/large"), Slots: m.slots(), Attempt: attempt, Application: types.UID(m.pick("", "f00d")),
			Submitted: m.time(), Scheduled: m.time(), Started: m.time(), Finished: m.time(),
			Outcome: v1alpha1.Outcome(m.pick("", "Succeeded", "Failed", "Cancelled")), Reason: m.pick("", "ApplicationLost"),
		})
	}
	if m.IntN(2) == 0 {
		slots := append(m.slots(), "node-z/0")
		s.CreationRequest = &v1alpha1.CreationRequest{
			Testbed: v1alpha1.ObjectReference{Namespace: "lab", Name: "small", UID: "71fe"}, Slots: slots, Replication: int32(len(slots)), Attempt: attempt + 1,
		}
	}
	return s
}

// A job's stored state is the same after a round trip.
func TestJobStatusRoundTrip(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(20, 1))}
	for range 300 {
		want := m.jobStatus()
		job, err := storedJob(&want)
		if err != nil {
			t.Fatal(err)
		}
		got := want.DeepCopy()
		storeJob(got, &job)
		if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		again, err := storedJob(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(job, again); diff != "" {
			t.Fatal(diff)
		}
	}
}

// So is the state that a step makes of it, except below a second: a bound must not become earlier.
func TestJobRoundTrip(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(20, 2))}
	for range 300 {
		from := m.jobStatus()
		want, err := storedJob(&from)
		if err != nil {
			t.Fatal(err)
		}
		given := want
		if !given.NotBefore.IsZero() {
			given.NotBefore = given.NotBefore.Add(-time.Duration(1 + m.IntN(1e9-1)))
		}
		var status v1alpha1.BatchJobStatus
		storeJob(&status, &given)
		got, err := storedJob(&status)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	}
}

// A creation request is not written by steps: its resources stay while it does, and it goes when
// the step drops it.
func TestStoreJobKeepsRequest(t *testing.T) {
	status := v1alpha1.BatchJobStatus{State: "InQueue", CreationRequest: &v1alpha1.CreationRequest{
		Testbed: v1alpha1.ObjectReference{Namespace: "lab", Name: "small", UID: "71fe"}, Slots: []string{"node-a/0"}, Replication: 1, Attempt: 3,
	}}
	job, err := storedJob(&status)
	if err != nil {
		t.Fatal(err)
	}
	storeJob(&status, &job)
	if status.CreationRequest == nil || status.CreationRequest.Testbed.UID != "71fe" {
		t.Errorf("the request has become %+v", status.CreationRequest)
	}
	job.Request = nil
	storeJob(&status, &job)
	if status.CreationRequest != nil {
		t.Errorf("the request is still there: %+v", status.CreationRequest)
	}
}

// A state that no step writes is refused with the field's name.
func TestStoredRefused(t *testing.T) {
	for what, change := range map[string]func(*v1alpha1.BatchJobStatus){
		"JobState": func(s *v1alpha1.BatchJobStatus) { s.State = "Sleeping" },
		"ID": func(s *v1alpha1.BatchJobStatus) {
			s.CreationRequest = &v1alpha1.CreationRequest{Slots: []string{"node-a"}}
		},
		"Outcome": func(s *v1alpha1.BatchJobStatus) { s.Runs = []v1alpha1.Run{{Outcome: "Perhaps"}} },
		"Name":    func(s *v1alpha1.BatchJobStatus) { s.Runs = []v1alpha1.Run{{Testbed: "nowhere"}} },
	} {
		var status v1alpha1.BatchJobStatus
		change(&status)
		_, err := storedJob(&status)
		var name *field.Error
		if !errors.As(err, &name) || name.Field != what || !errors.Is(err, testbed.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := storedScheduling(&v1alpha1.SchedulingStatus{State: "Sleeping"}); !errors.Is(err, testbed.ErrInvalid) {
		t.Error(err)
	}
	if _, err := storedScheduling(&v1alpha1.SchedulingStatus{Acquired: []string{"nowhere"}}); !errors.Is(err, testbed.ErrInvalid) {
		t.Error(err)
	}
}

func TestSchedulingStatusRoundTrip(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(20, 3))}
	for range 500 {
		want := v1alpha1.SchedulingStatus{
			State:   v1alpha1.SchedulingState(m.pick("", "Acquiring", "Confirming", "Submitting", "AwaitingCompletion", "Completed", "Failed", "Releasing")),
			Started: m.time(), Completed: m.time(),
		}
		for i := range m.IntN(4) {
			want.Acquired = append(want.Acquired, fmt.Sprint("lab/job-", i))
		}
		s, err := storedScheduling(&want)
		if err != nil {
			t.Fatal(err)
		}
		got := want.DeepCopy()
		storeScheduling(got, &s)
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatal(diff)
		}
	}
	var status v1alpha1.SchedulingStatus
	storeScheduling(&status, &lifecycle.Scheduling{State: lifecycle.Released})
	if status.State != v1alpha1.SchedulingReleasing {
		t.Errorf("released is %q", status.State)
	}
}

func TestClaimsRoundTrip(t *testing.T) {
	want := []v1alpha1.Claim{
		{BatchJobUID: "c0de", BatchJob: "lab/a", Scheduling: "lab/first", SchedulingUID: "5e1d", Slots: []string{"node-a/0", "node-b/1"}, Since: metav1.Time{Time: epoch}},
		{BatchJobUID: "c0df", BatchJob: "lab/b", Scheduling: "lab/first", SchedulingUID: "5e1d", Slots: []string{"node-a/1"}, Since: metav1.Time{Time: epoch}},
	}
	claims, err := parseClaims(want)
	if err != nil {
		t.Fatal(err)
	}
	if claims[0].Slots[1] != (slot.ID{Node: "node-b", Position: 1}) || claims[1].Job != (testbed.Name{Namespace: "lab", Name: "b"}) {
		t.Errorf("%+v", claims)
	}
	if diff := cmp.Diff(want, claimsToStore(claims)); diff != "" {
		t.Error(diff)
	}
	tb := &v1alpha1.Testbed{Status: v1alpha1.TestbedStatus{Claims: want}}
	if c := claimOfJob(tb, "c0df"); c == nil || c.BatchJob != "lab/b" {
		t.Errorf("%+v", c)
	}
	if c := claimOfJob(tb, "none"); c != nil || claimOfJob(nil, "c0de") != nil {
		t.Errorf("%+v", c)
	}
	for _, broken := range []v1alpha1.Claim{{BatchJob: "a", Scheduling: "lab/s"}, {BatchJob: "lab/a", Scheduling: "s"}, {BatchJob: "lab/a", Scheduling: "lab/s", Slots: []string{"x"}}} {
		if _, err := parseClaims([]v1alpha1.Claim{broken}); !errors.Is(err, testbed.ErrInvalid) {
			t.Errorf("%+v: %v", broken, err)
		}
	}
}

// A long reason is cut to the definition's maximum, at a whole character.
func TestReasonIsCut(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 5000), strings.Repeat("é", 800), "a" + strings.Repeat("語", 900), strings.Repeat("x", maxReason), "bad \xff byte"} {
		var status v1alpha1.BatchJobStatus
		storeJob(&status, &lifecycle.Job{Reason: text})
		got := status.Reason
		if len(got) > maxReason || !utf8.ValidString(got) || len(text) <= maxReason && utf8.ValidString(text) && got != text {
			t.Errorf("%d bytes have become %d: …%q", len(text), len(got), got[max(0, len(got)-8):])
		}
		if len(text) > maxReason && (len(got) < maxReason-6 || !strings.HasSuffix(got, "…")) {
			t.Errorf("of %d bytes %d are left", len(text), len(got))
		}
	}
}
