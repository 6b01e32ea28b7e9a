package controller

import (
	"encoding"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// maxReason is how many bytes of a reason a status keeps.
const maxReason = 1024

// parser reads texts that a status keeps, and keeps the first error.
type parser struct{ err error }

func (p *parser) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// state reads the name of a constant.
func (p *parser) state(into encoding.TextUnmarshaler, text string) {
	p.keep(into.UnmarshalText([]byte(text)))
}

// name reads what Name.String writes, of the zero Name too.
func (p *parser) name(text string) testbed.Name {
	if text == "" || text == (testbed.Name{}).String() {
		return testbed.Name{}
	}
	name, err := testbed.ParseName(text)
	p.keep(err)
	return name
}

func (p *parser) slots(texts []string) []slot.ID {
	var ids []slot.ID
	for _, text := range texts {
		id, err := slot.ParseID(text)
		p.keep(err)
		ids = append(ids, id)
	}
	return ids
}

// storedJob reads what a status keeps of a job. What no step has written is a *field.Error.
func storedJob(status *v1alpha1.BatchJobStatus) (lifecycle.Job, error) {
	var p parser
	j := lifecycle.Job{Reason: status.Reason, Retries: int(status.Retries), NotBefore: timeOf(status.NotBefore), StalledSince: timeOf(status.StalledSince)}
	p.state(&j.State, string(status.State))
	if active := status.ActiveScheduling; active != nil {
		j.Scheduling, j.SchedulingUID = refName(active), string(active.UID)
	}
	if request := status.CreationRequest; request != nil {
		j.Request = &lifecycle.Request{Testbed: refName(&request.Testbed), Slots: p.slots(request.Slots), Attempt: int(request.Attempt)}
	}
	for i := range status.Runs {
		r := &status.Runs[i]
		run := lifecycle.Run{
			Request:    lifecycle.Request{Attempt: int(r.Attempt), Testbed: p.name(r.Testbed), Slots: p.slots(r.Slots)},
			Scheduling: p.name(r.Scheduling), Application: string(r.Application), Reason: r.Reason,
			Submitted: timeOf(r.Submitted), Scheduled: timeOf(r.Scheduled), Started: timeOf(r.Started), Finished: timeOf(r.Finished),
		}
		p.state(&run.Outcome, string(r.Outcome))
		j.Runs = append(j.Runs, run)
	}
	if p.err != nil {
		return lifecycle.Job{}, p.err
	}
	return j, nil
}

// storeJob writes what a step has decided into a status. Of the creation request, which
// no step writes, what is there stays unless the step has dropped it.
func storeJob(status *v1alpha1.BatchJobStatus, j *lifecycle.Job) {
	status.State = v1alpha1.BatchJobState(j.State.String())
	status.Reason = shortReason(j.Reason)
	status.Retries = int32(j.Retries)
	status.NotBefore, status.StalledSince = later(j.NotBefore), timePointer(j.StalledSince)
	switch active := status.ActiveScheduling; {
	case j.SchedulingUID == "":
		status.ActiveScheduling = nil
	case active == nil || string(active.UID) != j.SchedulingUID || refName(active) != j.Scheduling:
		status.ActiveScheduling = &v1alpha1.ObjectReference{
			Namespace: j.Scheduling.Namespace, Name: j.Scheduling.Name, UID: types.UID(j.SchedulingUID),
		}
	}
	switch request := status.CreationRequest; {
	case j.Request == nil:
		status.CreationRequest = nil
	case request == nil || int(request.Attempt) != j.Request.Attempt:
		status.CreationRequest = &v1alpha1.CreationRequest{
			Testbed: v1alpha1.ObjectReference{Namespace: j.Request.Testbed.Namespace, Name: j.Request.Testbed.Name},
			Slots:   slotTexts(j.Request.Slots), Replication: int32(len(j.Request.Slots)), Attempt: int32(j.Request.Attempt),
		}
	}
	status.Runs = nil
	for i := range j.Runs {
		status.AddRun(storedRun(&j.Runs[i]))
	}
}

func storedRun(run *lifecycle.Run) v1alpha1.Run {
	return v1alpha1.Run{
		Scheduling: run.Scheduling.String(), Testbed: run.Testbed.String(), Slots: slotTexts(run.Slots),
		Attempt: int32(run.Attempt), Application: types.UID(run.Application),
		Submitted: timePointer(run.Submitted), Scheduled: timePointer(run.Scheduled),
		Started: timePointer(run.Started), Finished: timePointer(run.Finished),
		Outcome: v1alpha1.Outcome(run.Outcome.String()), Reason: shortReason(run.Reason),
	}
}

// storedScheduling reads what a status keeps of a scheduling. What no step has written is a
// *field.Error.
func storedScheduling(status *v1alpha1.SchedulingStatus) (lifecycle.Scheduling, error) {
	var p parser
	s := lifecycle.Scheduling{Started: timeOf(status.Started), Completed: timeOf(status.Completed)}
	p.state(&s.State, string(status.State))
	for _, text := range status.Acquired {
		s.Acquired = append(s.Acquired, p.name(text))
	}
	return s, p.err
}

// storeScheduling writes what a step has decided into a status. New is no state of an
// object, and what is Released is Releasing until it is gone.
func storeScheduling(status *v1alpha1.SchedulingStatus, s *lifecycle.Scheduling) {
	switch s.State {
	case lifecycle.New:
		status.State = ""
	case lifecycle.Released:
		status.State = v1alpha1.SchedulingReleasing
	default:
		status.State = v1alpha1.SchedulingState(s.State.String())
	}
	status.Started, status.Completed = timePointer(s.Started), timePointer(s.Completed)
	status.Acquired = nil
	for _, name := range s.Acquired {
		status.Acquired = append(status.Acquired, name.String())
	}
}

// parseClaims reads the claims that a Testbed's status keeps.
func parseClaims(stored []v1alpha1.Claim) ([]claim.Claim, error) {
	var p parser
	var claims []claim.Claim
	name := func(text string) testbed.Name { // unlike a run's, it is always there
		name, err := testbed.ParseName(text)
		p.keep(err)
		return name
	}
	for i := range stored {
		c := &stored[i]
		claims = append(claims, claim.Claim{
			JobUID: string(c.BatchJobUID), Job: name(c.BatchJob), SchedulingUID: string(c.SchedulingUID),
			Scheduling: name(c.Scheduling), Slots: p.slots(c.Slots), Since: c.Since.UTC(),
		})
	}
	if p.err != nil {
		return nil, p.err
	}
	return claims, nil
}

// claimsToStore is what a Testbed's status keeps of claims.
func claimsToStore(claims []claim.Claim) []v1alpha1.Claim {
	var stored []v1alpha1.Claim
	for i := range claims {
		c := &claims[i]
		stored = append(stored, v1alpha1.Claim{
			BatchJobUID: types.UID(c.JobUID), BatchJob: c.Job.String(),
			SchedulingUID: types.UID(c.SchedulingUID), Scheduling: c.Scheduling.String(),
			Slots: slotTexts(c.Slots), Since: metav1.Time{Time: c.Since.Truncate(time.Second)},
		})
	}
	return stored
}

// claimOfJob returns the job's claim on the Testbed's slots, nil if it has none. It points
// into the Testbed.
func claimOfJob(tb *v1alpha1.Testbed, job types.UID) *v1alpha1.Claim {
	if tb == nil {
		return nil
	}
	for i := range tb.Status.Claims {
		if tb.Status.Claims[i].BatchJobUID == job {
			return &tb.Status.Claims[i]
		}
	}
	return nil
}

func refName(r *v1alpha1.ObjectReference) testbed.Name {
	return testbed.Name{Namespace: r.Namespace, Name: r.Name}
}

func slotTexts(ids []slot.ID) []string {
	var texts []string
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return texts
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// timePointer is a time as an object keeps it: in whole seconds, so that what is about to
// be written is compared with what was read.
func timePointer(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

// later is a time before which nothing is to happen, in whole seconds.
func later(t time.Time) *metav1.Time {
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		t = whole.Add(time.Second)
	}
	return timePointer(t)
}

// shortReason cuts a text to what a status keeps of it.
func shortReason(text string) string { return cut(text, maxReason) }

// cut cuts a text to so many bytes of whole characters.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	const more = "…"
	end := most - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
