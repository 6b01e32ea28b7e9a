package controller

import (
	"time"

	"github.com/spazio-scheduler/spazio/operator/observe"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/claim"
)

// grant gives free slots to the Schedulings that want some, in their order. The table has
// what is granted, and has to be made anew if that is not stored.
func (s *testbedState) grant(t *claim.Table, o *observation, out *outcome, now time.Time) error {
	if o.testbed.DeletionTimestamp != nil {
		return nil
	}
	var applicants []claim.Scheduling
	asking := map[string]time.Time{}
	for _, candidate := range o.candidates {
		a, wants, err := o.claimable(candidate, o.testbed, s.config.Order, o.jobs, now)
		if err != nil {
			// What one asks for in vain must not keep the others waiting.
			out.refused = append(out.refused, refusal{candidate, err})
			continue
		}
		s.wakeWaiting(candidate, o, out, now)
		if !wants {
			continue
		}
		applicants = append(applicants, a)
		asking[a.UID] = now
		if since, ok := s.asking[a.UID]; ok {
			asking[a.UID] = since
		}
	}
	s.asking = asking
	if len(applicants) == 0 {
		return nil
	}
	var err error
	out.granted, err = t.Grant(applicants, claim.Slots{All: s.config.Order.Slots(), Free: s.table.FreeTo(nil)}, now)
	return err
}

// wakeWaiting has the Testbed be looked at when a job may be tried again.
func (s *testbedState) wakeWaiting(candidate *v1alpha1.Scheduling, o *observation, out *outcome, now time.Time) {
	for _, name := range observe.Names(candidate) {
		job := o.jobs(observe.Key(name))
		if job == nil || job.Status.NotBefore == nil || job.Status.State != v1alpha1.BatchJobInQueue {
			continue
		}
		if at := job.Status.NotBefore.Time; at.After(now) {
			out.wake(at)
		}
	}
}

// refusal is a Scheduling that asks for what nobody could be granted.
type refusal struct {
	scheduling *v1alpha1.Scheduling
	err        error
}
