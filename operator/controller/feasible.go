package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// finding is a finding about a Scheduling or a job: nothing against it, or why.
type finding struct {
	// Reason is that of a condition, empty if there is nothing against it.
	Reason string
	// Message is for people.
	Message string
}

// OK reports whether there is nothing against it.
func (v finding) OK() bool { return v.Reason == "" }

// admits reports whether an object lets a Scheduling use it; if not, why.
type admits func(namespace string, allowed *v1alpha1.AllowedNamespaces) (bool, string)

// feasibility returns whether all that a Scheduling lists is there, and may be used by it. It sets
// what is said against it is about: the Testbed, or a job.
func (v *schedulingView) feasibility(o *lifecycle.SchedulingObserved, consent admits) finding {
	v.infeasibleJob, v.infeasibleTestbed = testbed.Name{}, true
	s, tb := v.Scheduling, v.Testbed
	switch {
	case tb == nil:
		return finding{v1alpha1.ReasonUnknownTestbed, fmt.Sprintf("there is no Testbed %s", s.TestbedKey())}
	case tb.DeletionTimestamp != nil:
		return finding{v1alpha1.ReasonUnknownTestbed, fmt.Sprintf("the Testbed %s is being deleted", s.TestbedKey())}
	}
	if ok, why := consent(tb.Namespace, &tb.Spec.AllowedNamespaces); !ok {
		return finding{v1alpha1.ReasonNotAllowed, fmt.Sprintf("the Testbed %s %s", s.TestbedKey(), why)}
	}
	if verdict := v.jobsFeasible(o, consent); !verdict.OK() {
		v.infeasibleTestbed = false
		return verdict
	}
	verdict := v.slotsFeasible(o)
	v.infeasibleTestbed = verdict.Reason == v1alpha1.ReasonUnknownTestbed
	return verdict
}

// jobsFeasible is about the jobs that it lacks; those that it had and were deleted it
// wants no more.
func (v *schedulingView) jobsFeasible(o *lifecycle.SchedulingObserved, consent admits) finding {
	var unknown, refused []string
	var firstRefused testbed.Name
	for _, name := range o.Lacking() {
		job := v.Job(keyOf(name))
		if job == nil {
			if unknown = append(unknown, name.String()); len(unknown) == 1 {
				v.infeasibleJob = name
			}
		} else if ok, why := consent(job.Namespace, &job.Spec.AllowedNamespaces); !ok {
			if refused = append(refused, name.String()+" "+why); len(refused) == 1 {
				firstRefused = name
			}
		}
	}
	switch {
	case len(unknown) > 0:
		return finding{v1alpha1.ReasonUnknownJob, "there is no BatchJob " + some(unknown)}
	case len(refused) > 0:
		v.infeasibleJob = firstRefused
		return finding{v1alpha1.ReasonNotAllowed, "the BatchJob " + some(refused)}
	}
	return finding{}
}

// some are the first of many.
func some(what []string) string {
	const shown = 3
	if n := len(what) - shown; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(what[:shown], ", "), n)
	}
	return strings.Join(what, ", ")
}

// slotsFeasible is about the slots of jobs that have yet to be submitted.
func (v *schedulingView) slotsFeasible(o *lifecycle.SchedulingObserved) finding {
	s := v.Scheduling
	in, err := potentialOrder(v.Testbed)
	if err != nil {
		return finding{v1alpha1.ReasonUnknownTestbed, err.Error()}
	}
	submitted := make(map[testbed.Name]bool)
	for i := range o.Members {
		m := &o.Members[i]
		submitted[m.Job] = m.Held && (m.Claimed || m.State > lifecycle.InQueue)
	}
	if s.Spec.SlotBased != nil {
		return namedFeasible(s, in, submitted)
	}
	blocked, err := claim.Feasible(queueRequest(s, in), submitted, in.Slots())
	switch {
	case err != nil:
		return finding{v1alpha1.ReasonTooManySlots, err.Error()}
	case blocked != nil:
		return finding{v1alpha1.ReasonTooManySlots, fmt.Sprintf("the BatchJob %s takes %d slots, and the Testbed has %d", blocked.Job, blocked.Needs, in.Len())}
	}
	return finding{}
}

// namedFeasible reports whether there are the slots that are named.
func namedFeasible(s *v1alpha1.Scheduling, in *slot.Order, submitted map[testbed.Name]bool) finding {
	all := wanted(s)
	for _, name := range jobNames(s) {
		w := all[name]
		if submitted[name] {
			continue
		}
		if w.n > in.Len() {
			return finding{v1alpha1.ReasonTooManySlots, fmt.Sprintf("the BatchJob %s takes %d slots, and the Testbed has %d", name, w.n, in.Len())}
		}
		ids, wrong, ok := resolve(w.named, in)
		for i := 0; ok && i < len(ids); i++ {
			if _, known := in.Index(ids[i]); !known {
				wrong, ok = v1alpha1.SlotID(ids[i].String()), false
			}
		}
		if !ok {
			return finding{v1alpha1.ReasonUnknownSlot, fmt.Sprintf("slot %s of the BatchJob %s is none of the Testbed's %d, or named twice", wrong, name, in.Len())}
		}
	}
	return finding{}
}

// accepted reports whether what is listed can be carried out as it stands. has are the slots
// that a job has, nil of one that has yet to be submitted.
func (v *schedulingView) accepted(has func(testbed.Name) []string) finding {
	s := v.Scheduling
	if twice := duplicates(s); len(twice) > 0 {
		return finding{v1alpha1.ReasonDuplicateJob, fmt.Sprintf("the BatchJob %s is given slots twice: the first ones count", twice[0])}
	}
	var slots []slot.ID
	if v.Testbed != nil {
		if in, err := presentOrder(v.Testbed); err == nil {
			slots = in.Slots()
		}
	}
	all := wanted(s)
	var changed []string
	for _, name := range jobNames(s) {
		if has := has(name); has != nil && differs(all[name], has, slots) {
			changed = append(changed, name.String())
		}
	}
	if len(changed) > 0 {
		return finding{v1alpha1.ReasonSubmittedJobChanged, "already submitted with other slots, which it keeps: " + some(changed)}
	}
	return finding{}
}

// differs reports whether a job that has slots would be given others now.
func differs(w want, has []string, slots []slot.ID) bool {
	if w.n != len(has) {
		return true
	}
	for _, ref := range w.named {
		id := ref.Text
		if index, is := ref.Index(); is {
			if index >= len(slots) {
				continue
			}
			id = slots[index].String()
		}
		if !slices.Contains(has, id) {
			return true
		}
	}
	return false
}
