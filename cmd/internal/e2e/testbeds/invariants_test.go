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

// change is a version of a pod or of a Testbed, by the API server's revision. Revisions count for all
// kinds together, so changes of both can be ordered.
type change struct {
	revision int64
	pod      *corev1.Pod       // one of the two
	testbed  *v1alpha1.Testbed //
	gone     bool              // this is the last version
}

// tick is an unrelated write: its revision dates the changes around it, so that no claim about time
// depends on when a loaded machine received an event.
type tick struct {
	revision       int64
	sent, answered time.Time
}

// patience is how long two pods may be in one slot, or one in a slot that is not its own.
const patience = 5 * time.Second

// lull is the longest interval between ticks that counts as time: a machine that cannot tick for longer
// cannot do anything else.
const lull = time.Second

// between returns a time that has certainly passed between two revisions.
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

// replay replays the changes.
type replay struct {
	ticks    []tick
	testbeds map[types.UID]*v1alpha1.Testbed
	pods     map[types.UID]*corev1.Pod
	since    map[string]int64 // states that must not last, and the revision that they began at
	faults   []string
}

// violations returns the broken invariants of a history: no slot is claimed twice, and no two live
// pods, nor a pod without a claim of its job, are in a slot for longer than patience. Changes may come
// in any order, ticks in theirs.
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

// claims looks for slots with two claims.
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

// bound processes a pod with a node.
func (r *replay) bound(c change) {
	if !placed(c.pod) {
		return
	}
	node, _, _ := strings.Cut(slotOf(c.pod).slot, "/")
	if node != c.pod.Spec.NodeName {
		r.fault("revision %d: pod %s of slot %q is on node %s", c.revision, c.pod.Name, slotOf(c.pod).slot, c.pod.Spec.NodeName)
	}
}

// placed reports whether the slots' scheduler placed a pod on a node. A pod that another scheduler
// placed, since an operator did not set its scheduler, is in no slot; its job thereby failed.
func placed(pod *corev1.Pod) bool {
	return live(pod) && pod.Spec.SchedulerName == v1alpha1.SchedulerName
}

// live reports whether a pod uses its requests on a node.
func live(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func slotOf(pod *corev1.Pod) place {
	return place{types.UID(pod.Labels[v1alpha1.LabelTestbedUID]), pod.Annotations[v1alpha1.AnnotationSlot]}
}

// crowded returns states that must not last: pairs of pods in one slot, and pods in slots without a
// claim of their jobs.
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

// lasting records for how long such states have lasted.
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

// world is the state at one moment.
type world struct {
	testbeds    []v1alpha1.Testbed
	jobs        []v1alpha1.BatchJob
	schedulings []v1alpha1.Scheduling
	pods        []corev1.Pod
}

// leftovers returns what is lost, or waits for nothing, in a quiescent state: claims without a job,
// empty slots without a placeholder, and Schedulings whose next job could run in free slots.
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

// holds reports whether a job in the state has slots.
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

// slotsOf returns the slots in their order: by position, then by node.
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

// before reports which of two Schedulings is served first.
func before(a, b *v1alpha1.Scheduling) bool {
	if a.Spec.Priority != b.Spec.Priority {
		return a.Spec.Priority > b.Spec.Priority
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// waiting looks for jobs that could run. A job that cannot keeps its slots from later ones: in a queue
// the lowest free ones, otherwise those that it names.
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

// next returns a Scheduling's first waiting job, and how many or which slots it needs.
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
