package testbeds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// change is a version of a pod or of a Testbed, by the API server's revision. Revisions
// are of all kinds together, so that changes of both can be put in order.
type change struct {
	revision int64
	pod      *corev1.Pod       // one of the two
	testbed  *v1alpha1.Testbed //
	gone     bool              // this is the last version
}

// tick is a write of nobody's business: its revision dates the changes around it, so that
// no claim about time rests on when a busy machine heard of something.
type tick struct {
	revision       int64
	sent, answered time.Time
}

// patience is how long two pods may be in one slot, or one in a slot that is not its own.
const patience = 5 * time.Second

// lull is the longest from one tick to the next that counts as time: a machine that can't
// tick for longer can't do anything else.
const lull = time.Second

// between returns a time that has passed for sure from one revision to another.
func between(ticks []tick, from, to int64) time.Duration {
	after := slices.IndexFunc(ticks, func(t tick) bool { return t.revision >= from })
	if after < 0 {
		return 0
	}
	passed := ticks[after].sent.Sub(ticks[after].answered)
	for i := after + 1; i < len(ticks) && ticks[i].revision <= to; i++ {
		passed += min(ticks[i].sent.Sub(ticks[i-1].sent), lull)
	}
	return passed
}

// place is a slot of a Testbed.
type place struct {
	testbed types.UID
	slot    string
}

// replay goes through what happened.
type replay struct {
	ticks    []tick
	testbeds map[types.UID]*v1alpha1.Testbed
	pods     map[types.UID]*corev1.Pod
	since    map[string]int64 // what must not last, and from which revision on it has
	faults   []string
}

// violations returns what a history breaks of what test beds promise: no slot is claimed
// twice, and no two live pods, nor one whose job has no claim to it, are in a slot for
// longer than patience. Changes may come in any order, ticks in theirs.
func violations(changes []change, ticks []tick) []string {
	r := &replay{
		ticks: ticks, testbeds: map[types.UID]*v1alpha1.Testbed{}, pods: map[types.UID]*corev1.Pod{}, since: map[string]int64{},
	}
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b change) int { return int(a.revision - b.revision) })
	last := int64(0)
	for _, c := range changes {
		r.apply(c)
		last = max(last, c.revision)
	}
	if len(ticks) > 0 {
		last = max(last, ticks[len(ticks)-1].revision)
	}
	r.lasting(nil, last)
	return r.faults
}

func (r *replay) apply(c change) {
	switch {
	case c.testbed != nil && c.gone:
		delete(r.testbeds, c.testbed.UID)
	case c.testbed != nil:
		r.testbeds[c.testbed.UID] = c.testbed
		r.claims(c)
	case c.gone:
		delete(r.pods, c.pod.UID)
	default:
		r.pods[c.pod.UID] = c.pod
		r.bound(c)
	}
	r.lasting(r.crowded(), c.revision)
}

func (r *replay) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// claims looks for slots that have two.
func (r *replay) claims(c change) {
	owner := map[string]string{}
	for _, claim := range c.testbed.Status.Claims {
		for _, slot := range claim.Slots {
			if other, ok := owner[slot]; ok {
				r.fault("revision %d: slot %s of %s is claimed by %s and %s", c.revision, slot, c.testbed.Name, other, claim.BatchJob)
			}
			owner[slot] = claim.BatchJob
		}
	}
}

// bound looks at a pod that a node has.
func (r *replay) bound(c change) {
	if !placed(c.pod) {
		return
	}
	node, _, _ := strings.Cut(slotOf(c.pod).slot, "/")
	if node != c.pod.Spec.NodeName {
		r.fault("revision %d: pod %s of slot %q is on node %s", c.revision, c.pod.Name, slotOf(c.pod).slot, c.pod.Spec.NodeName)
	}
}

// placed says whether a pod is on a node by the slots' scheduler. One that another
// scheduler has placed, for an operator did not say whose it is, is in no slot; its job
// has failed by that.
func placed(pod *corev1.Pod) bool {
	return live(pod) && pod.Spec.SchedulerName == v1alpha1.SchedulerName
}

// live says whether a pod takes what it asks for of a node.
func live(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func slotOf(pod *corev1.Pod) place {
	return place{types.UID(pod.Labels[v1alpha1.LabelTestbedUID]), pod.Annotations[v1alpha1.AnnotationSlot]}
}

// crowded is what must not last: pairs of pods in one slot, and pods in slots that their
// jobs have no claim to.
func (r *replay) crowded() map[string]bool {
	now := map[string]bool{}
	in := map[place][]*corev1.Pod{}
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		pod := r.pods[uid]
		if !placed(pod) {
			continue
		}
		at := slotOf(pod)
		for _, other := range in[at] {
			now[fmt.Sprintf("pods %s and %s are both in slot %s", other.Name, pod.Name, at.slot)] = true
		}
		in[at] = append(in[at], pod)
		if pod.Labels[v1alpha1.LabelRole] == v1alpha1.RoleSlot && !r.claimed(pod) {
			now[fmt.Sprintf("pod %s is in slot %s, which its job has not claimed", pod.Name, at.slot)] = true
		}
	}
	return now
}

func (r *replay) claimed(pod *corev1.Pod) bool {
	testbed := r.testbeds[slotOf(pod).testbed]
	if testbed == nil {
		return false
	}
	for _, claim := range testbed.Status.Claims {
		if string(claim.BatchJobUID) == pod.Labels[v1alpha1.LabelBatchJobUID] && slices.Contains(claim.Slots, slotOf(pod).slot) {
			return true
		}
	}
	return false
}

// lasting keeps count of what must not last.
func (r *replay) lasting(now map[string]bool, revision int64) {
	for what := range now {
		if _, ok := r.since[what]; !ok {
			r.since[what] = revision
		}
	}
	for _, what := range slices.Sorted(maps.Keys(r.since)) {
		if now[what] {
			continue
		}
		if d := between(r.ticks, r.since[what], revision); d > patience {
			r.fault("revisions %d to %d: %s, for at least %v", r.since[what], revision, what, d.Round(time.Millisecond))
		}
		delete(r.since, what)
	}
}

// world is what there is at one moment.
type world struct {
	testbeds    []v1alpha1.Testbed
	jobs        []v1alpha1.BatchJob
	schedulings []v1alpha1.Scheduling
	pods        []corev1.Pod
}

// leftovers returns what is lost, or waits for nothing, where nothing happens any more:
// claims that no job holds, slots in which nothing stands for them, and Schedulings whose
// next job could run in slots that are free.
func (w *world) leftovers() (faults []string) {
	for i := range w.testbeds {
		t := &w.testbeds[i]
		if t.DeletionTimestamp != nil {
			faults = append(faults, fmt.Sprintf("Testbed %s is not gone", t.Name))
			continue
		}
		faults = append(faults, w.lost(t)...)
		faults = append(faults, w.waiting(t)...)
	}
	return faults
}

// holds says whether a job in the state has slots.
func holds(s v1alpha1.BatchJobState) bool {
	return s == v1alpha1.BatchJobSubmitted || s == v1alpha1.BatchJobScheduled || s == v1alpha1.BatchJobRunning
}

func (w *world) lost(t *v1alpha1.Testbed) (faults []string) {
	fault := func(format string, args ...any) {
		faults = append(faults, "Testbed "+t.Name+": "+fmt.Sprintf(format, args...))
	}
	claimed := claimedSlots(t)
	for _, claim := range t.Status.Claims {
		i := slices.IndexFunc(w.jobs, func(j v1alpha1.BatchJob) bool { return j.UID == claim.BatchJobUID })
		switch {
		case i < 0:
			fault("%s has slots %v and is not there", claim.BatchJob, claim.Slots)
		case !holds(w.jobs[i].Status.State):
			fault("%s has slots %v and is %s", claim.BatchJob, claim.Slots, w.jobs[i].Status.State)
		}
	}
	for _, job := range w.jobs {
		c := job.Status.CreationRequest
		if c == nil || c.Testbed.UID != t.UID || !holds(job.Status.State) {
			continue
		}
		for _, slot := range c.Slots {
			if claimed[slot] != job.UID {
				fault("%s is %s in slot %s, which it has not claimed", job.Name, job.Status.State, slot)
			}
		}
	}
	standing := map[string]int{} // live pods by slot
	for i := range w.pods {
		if pod := &w.pods[i]; slotOf(pod).testbed == t.UID && live(pod) {
			standing[slotOf(pod).slot]++
		}
	}
	for _, slot := range slotsOf(t) {
		if standing[slot] != 1 {
			fault("%d pods are in slot %s", standing[slot], slot)
		}
		delete(standing, slot)
	}
	for slot, n := range standing {
		if n > 0 {
			fault("%d pods are in slot %s, which there is not", n, slot)
		}
	}
	if c := t.Status.Counts; c.Slots != c.Free+c.Reserved+c.Occupied+c.Pending+c.Retiring {
		fault("counts %+v", c)
	}
	return faults
}

func claimedSlots(t *v1alpha1.Testbed) map[string]types.UID {
	claimed := map[string]types.UID{}
	for _, claim := range t.Status.Claims {
		for _, slot := range claim.Slots {
			claimed[slot] = claim.BatchJobUID
		}
	}
	return claimed
}

// slotsOf are the slots in their order: by position, then by node.
func slotsOf(t *v1alpha1.Testbed) (slots []string) {
	nodes := slices.Clone(t.Status.Nodes)
	slices.SortFunc(nodes, func(a, b v1alpha1.TestbedNode) int { return int(a.ID - b.ID) })
	for position := range int32(110) {
		for _, n := range nodes {
			if position < n.Slots {
				slots = append(slots, fmt.Sprintf("%s/%d", n.Name, position))
			}
		}
	}
	return slots
}

// before says which of two Schedulings is served first.
func before(a, b *v1alpha1.Scheduling) bool {
	if a.Spec.Priority != b.Spec.Priority {
		return a.Spec.Priority > b.Spec.Priority
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// waiting looks for jobs that could run. One that can't keeps its slots from those
// behind it: of a queue the lowest free ones, else those that it names by their IDs.
func (w *world) waiting(t *v1alpha1.Testbed) (faults []string) {
	claimed := claimedSlots(t)
	free := slices.DeleteFunc(slotsOf(t), func(slot string) bool { return claimed[slot] != "" })
	var waiters []*v1alpha1.Scheduling
	for i := range w.schedulings {
		s := &w.schedulings[i]
		if s.Spec.Testbed.Name == t.Name && (s.Spec.Testbed.Namespace == "" && s.Namespace == t.Namespace || s.Spec.Testbed.Namespace == t.Namespace) &&
			(s.Status.State == v1alpha1.SchedulingSubmitting || s.Status.State == v1alpha1.SchedulingConfirming && s.Spec.Confirm != v1alpha1.ConfirmEach) {
			waiters = append(waiters, s)
		}
	}
	slices.SortFunc(waiters, func(a, b *v1alpha1.Scheduling) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	for _, s := range waiters {
		if t.Status.ExclusiveFor != "" && t.Status.ExclusiveFor != s.UID || s.Spec.Exclusive && len(t.Status.Claims) > 0 && t.Status.ExclusiveFor == "" {
			continue
		}
		name, wanted, named := w.next(s, slotsOf(t))
		switch {
		case name == "":
		case named == nil && wanted <= len(free):
			faults = append(faults, fmt.Sprintf("%s of Scheduling %s waits for %d slots, and %v are free", name, s.Name, wanted, free))
		case named != nil && !slices.ContainsFunc(named, func(slot string) bool { return !slices.Contains(free, slot) }):
			faults = append(faults, fmt.Sprintf("%s of Scheduling %s waits for slots %v, which are free", name, s.Name, named))
		}
		if named == nil {
			free = free[min(wanted, len(free)):]
		} else {
			free = slices.DeleteFunc(free, func(slot string) bool { return slices.Contains(named, slot) })
		}
	}
	return faults
}

// next is the first job of a Scheduling that waits, and how many slots or which it wants.
func (w *world) next(s *v1alpha1.Scheduling, slots []string) (name string, wanted int, named []string) {
	queued := func(name, namespace string) bool {
		if namespace == "" {
			namespace = s.Namespace
		}
		return slices.ContainsFunc(w.jobs, func(j v1alpha1.BatchJob) bool {
			return j.Name == name && j.Namespace == namespace && j.Status.State == v1alpha1.BatchJobInQueue &&
				j.Status.ActiveScheduling != nil && j.Status.ActiveScheduling.UID == s.UID
		})
	}
	for _, j := range s.Spec.QueueBased {
		switch {
		case name == "" && queued(j.Name, j.Namespace):
			name, wanted = j.Name, 1
		case name == j.Name:
			wanted++
		}
	}
	if s.Spec.SlotBased == nil {
		return name, wanted, nil
	}
	for _, j := range s.Spec.SlotBased.Jobs {
		if queued(j.Name, j.Namespace) {
			for _, slot := range j.Slots {
				if i, ok := slot.Index(); ok && i < len(slots) {
					named = append(named, slots[i])
				} else {
					named = append(named, slot.Text)
				}
			}
			return j.Name, len(named), named
		}
	}
	return "", 0, nil
}
