package controller

import (
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

// storedJob reads what a status keeps of a job. What no step has written is a
// *field.Error.
func storedJob(status *v1alpha1.BatchJobStatus) (lifecycle.Job, error) {
	j := lifecycle.Job{Reason: status.Reason, Retries: int(status.Retries), NotBefore: timeOf(status.NotBefore), StalledSince: timeOf(status.StalledSince)}
	if err := j.State.UnmarshalText([]byte(status.State)); err != nil {
		return lifecycle.Job{}, err
	}
	if active := status.ActiveScheduling; active != nil {
		j.Scheduling, j.SchedulingUID = refName(active), string(active.UID)
	}
	if request := status.CreationRequest; request != nil {
		slots, err := slotIDs(request.Slots)
		if err != nil {
			return lifecycle.Job{}, err
		}
		j.Request = &lifecycle.Request{Testbed: refName(&request.Testbed), Slots: slots, Attempt: int(request.Attempt)}
	}
	for i := range status.Runs {
		run, err := runOf(&status.Runs[i])
		if err != nil {
			return lifecycle.Job{}, err
		}
		j.Runs = append(j.Runs, run)
	}
	return j, nil
}

func runOf(stored *v1alpha1.Run) (lifecycle.Run, error) {
	run := lifecycle.Run{
		Request: lifecycle.Request{Attempt: int(stored.Attempt)}, Application: string(stored.Application), Reason: stored.Reason,
		Submitted: timeOf(stored.Submitted), Scheduled: timeOf(stored.Scheduled),
		Started: timeOf(stored.Started), Finished: timeOf(stored.Finished),
	}
	var err error
	if run.Scheduling, err = parseName(stored.Scheduling); err != nil {
		return run, err
	}
	if run.Testbed, err = parseName(stored.Testbed); err != nil {
		return run, err
	}
	if run.Slots, err = slotIDs(stored.Slots); err != nil {
		return run, err
	}
	return run, run.Outcome.UnmarshalText([]byte(stored.Outcome))
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
	s := lifecycle.Scheduling{Started: timeOf(status.Started), Completed: timeOf(status.Completed)}
	if err := s.State.UnmarshalText([]byte(status.State)); err != nil {
		return lifecycle.Scheduling{}, err
	}
	for _, text := range status.Acquired {
		name, err := parseName(text)
		if err != nil {
			return lifecycle.Scheduling{}, err
		}
		s.Acquired = append(s.Acquired, name)
	}
	return s, nil
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
	var claims []claim.Claim
	for i := range stored {
		c, err := parseClaim(&stored[i])
		if err != nil {
			return nil, err
		}
		claims = append(claims, c)
	}
	return claims, nil
}

func parseClaim(stored *v1alpha1.Claim) (claim.Claim, error) {
	c := claim.Claim{
		JobUID: string(stored.BatchJobUID), SchedulingUID: string(stored.SchedulingUID), Since: stored.Since.UTC(),
	}
	var err error
	if c.Job, err = testbed.ParseName(stored.BatchJob); err != nil {
		return c, err
	}
	if c.Scheduling, err = testbed.ParseName(stored.Scheduling); err != nil {
		return c, err
	}
	c.Slots, err = slotIDs(stored.Slots)
	return c, err
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

// parseName reads what Name.String writes, of the zero Name too.
func parseName(text string) (testbed.Name, error) {
	if text == "" || text == (testbed.Name{}).String() {
		return testbed.Name{}, nil
	}
	return testbed.ParseName(text)
}

func slotIDs(texts []string) ([]slot.ID, error) {
	var ids []slot.ID
	for _, text := range texts {
		id, err := slot.ParseID(text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
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
