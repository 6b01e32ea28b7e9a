package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/testbed"
)

// JobState is the state of a job.
type JobState uint8

// The states of a job; the package's comment says what they mean.
const (
	Ready JobState = iota
	InQueue
	Submitted
	Scheduled
	Running
	Completed
	Failed
	Releasing
)

var jobStates = []string{
	"Ready", "InQueue", "Submitted", "Scheduled", "Running", "Completed", "Failed", "Releasing",
}

func (s JobState) String() string { return nameOf(jobStates, s) }

// UnmarshalText reads what String writes; an empty text is Ready.
func (s *JobState) UnmarshalText(text []byte) error {
	return parse(s, "JobState", jobStates, text)
}

// ended reports whether the job takes part in its scheduling no more.
func (s JobState) ended() bool { return s == Completed || s == Failed }

// submitted reports whether the job has an open run.
func (s JobState) submitted() bool { return s == Submitted || s == Scheduled || s == Running }

// SchedulingState is the state of a scheduling.
type SchedulingState uint8

// The states of a scheduling; the package's comment says what they mean. New is what
// has not been looked at yet.
const (
	New SchedulingState = iota
	Acquiring
	Confirming
	Submitting
	AwaitingCompletion
	SchedulingCompleted
	SchedulingFailed
	SchedulingReleasing
	Released
)

var schedulingStates = []string{
	"New", "Acquiring", "Confirming", "Submitting", "AwaitingCompletion", "Completed", "Failed", "Releasing", "Released",
}

func (s SchedulingState) String() string { return nameOf(schedulingStates, s) }

// UnmarshalText reads what String writes; an empty text is New.
func (s *SchedulingState) UnmarshalText(text []byte) error {
	return parse(s, "SchedulingState", schedulingStates, text)
}

// active reports whether the scheduling may still submit jobs.
func (s SchedulingState) active() bool { return s >= Acquiring && s <= AwaitingCompletion }

// Outcome is how a run has ended.
type Outcome uint8

// The outcomes of a run.
const (
	// Open: the run has not ended.
	Open Outcome = iota
	RunSucceeded
	RunFailed
	RunCancelled
)

var outcomes = []string{"", "Succeeded", "Failed", "Cancelled"}

func (o Outcome) String() string { return nameOf(outcomes, o) }

// UnmarshalText reads what String writes.
func (o *Outcome) UnmarshalText(text []byte) error {
	return parse(o, "Outcome", outcomes, text)
}

// nameOf returns the name of a constant, or its number if it has none.
func nameOf[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprint(uint8(i))
}

// parse sets the constant by its name; without one it is the zero value.
func parse[T ~uint8](to *T, field string, names []string, text []byte) error {
	i := 0
	if len(text) > 0 {
		if i = slices.Index(names, string(text)); i < 0 {
			return testbed.Refuse(field, string(text), "one of "+strings.Join(names, ", "))
		}
	}
	*to = T(i)
	return nil
}
