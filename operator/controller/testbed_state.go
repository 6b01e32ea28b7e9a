package controller

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// observation is what a look at a Testbed has found.
type observation struct {
	testbed *v1alpha1.Testbed
	// nodes may carry the Testbed's slots, each with the value of its label; lost are those
	// that are another Testbed's.
	nodes map[string]string
	lost  map[string]testbed.Name
	// pods are those in its slots.
	pods []slot.Pod
	// candidates are the Schedulings that the Testbed admits; claimable returns what each
	// wants now, by the jobs. active reports whether one has not ended.
	candidates []*v1alpha1.Scheduling
	claimable  claimable
	jobs       jobLookup
	active     bool
	// denied reports whether one is not admitted, by its namespace.
	denied bool
	// orphans are the jobs that are gone, with all their pods. unlocked reports whether the
	// Scheduling that has the Testbed for itself is gone too, or needs that no more.
	orphans  map[types.UID]bool
	unlocked bool
	// uses and rooms are, by node, what the Testbed has there and the room, for a Testbed whose
	// slots follow that.
	uses  map[string]*nodeUse
	rooms room.Source
}

// jobLookup returns the BatchJob of a name, nil if there is none. It is not to be modified.
type jobLookup func(types.NamespacedName) *v1alpha1.BatchJob

// claimable says what a Scheduling may be granted; see claimableIn.
type claimable func(*v1alpha1.Scheduling, *v1alpha1.Testbed, *slot.Order, func(types.NamespacedName) *v1alpha1.BatchJob, time.Time) (claim.Scheduling, bool, error)

// requested is what a job's claimed slots hold, as its creation request has it; nil if
// it has none.
func (o *observation) requested(c *claim.Claim) corev1.ResourceList {
	job := o.jobs(keyOf(c.Job))
	if job == nil || string(job.UID) != c.JobUID {
		return nil
	}
	request := job.Status.CreationRequest
	if request == nil || request.Testbed.UID != o.testbed.UID {
		return nil
	}
	return request.Resources
}

// outcome is what follows.
type outcome struct {
	status  v1alpha1.TestbedStatus
	granted []claim.Claim
	refused []refusal
	// released are the claims that ended as their jobs are gone.
	released int
	alarm
}

// testbedState is what is kept of a Testbed between two looks. All of it can be made anew from
// the API, except since when something has been so. It is used by one look at a time.
type testbedState struct {
	uid    types.UID
	table  *slot.Table
	config slot.Config
	// nodes and most are what config.Order was made of.
	nodes []slot.Node
	most  int
	// sizes are those that were spelt, and claimed what each claim's slots hold, by the
	// job's UID.
	sizes   map[string]placeholderSize
	claimed map[string]string
	autos   map[string]*autoNode
	// used reports whether a Scheduling uses the Testbed; lastUse is when one last did, zero
	// being long ago.
	used    bool
	lastUse time.Time
	// asking are the Schedulings that want slots, and since when.
	asking map[string]time.Time
	// pods are those that the table has, by UID; nil before the first look.
	pods map[string]slot.Pod
	// written is the Testbed as this controller has last written it.
	written *v1alpha1.Testbed
	// staleSince is since when the status that is stored differs in what can wait.
	staleSince time.Time
	// logged is when the backlog was last logged.
	logged time.Time
	ops    ops
	// automatic reports whether the slots follow measured room; it is read by others.
	automatic atomic.Bool
}

func newTestbedState(uid types.UID) *testbedState {
	return &testbedState{
		uid: uid, table: slot.NewTable(), sizes: map[string]placeholderSize{}, claimed: map[string]string{},
		autos: map[string]*autoNode{}, asking: map[string]time.Time{},
	}
}

// step takes in what was found and says what the status is to be. Nothing is done but
// to the state.
func (s *testbedState) step(o *observation, now time.Time) (outcome, error) {
	var out outcome
	s.automatic.Store(o.testbed.Spec.Automatic())
	s.follow(o, now)
	size := sizeOf(&o.testbed.Spec)
	stored := slices.DeleteFunc(slices.Clone(o.testbed.Status.Claims), func(c v1alpha1.Claim) bool {
		return o.orphans[c.BatchJobUID]
	})
	out.released = len(o.testbed.Status.Claims) - len(stored)
	claims, err := parseClaims(stored)
	if err != nil {
		return outcome{}, err
	}
	table := &claim.Table{Claims: slices.Clip(claims), ExclusiveFor: o.exclusiveFor()}
	if err := s.claim(claims, o, &size, now); err != nil {
		return outcome{}, err
	}
	idle := s.idle(o, len(claims), now, &out)
	if err := s.configure(o, &size, idle, now, &out); err != nil {
		return outcome{}, err
	}
	if err := s.grant(table, o, &out, now); err != nil {
		return outcome{}, err
	}
	if len(out.granted) > 0 {
		stored = append(stored, claimsToStore(out.granted)...)
		if err := s.claim(append(claims, out.granted...), o, &size, now); err != nil {
			return outcome{}, err
		}
	}
	if o.denied && o.testbed.Spec.AllowedNamespaces.From == v1alpha1.FromSelector {
		out.wake(now.Add(lookAgain)) // namespaces' labels are not followed
	}
	out.status = s.status(o, stored, types.UID(table.ExclusiveFor), now)
	return out, nil
}

// exclusiveFor is the Scheduling that has the Testbed for itself, and still wants that.
func (o *observation) exclusiveFor() string {
	if o.unlocked {
		return ""
	}
	return string(o.testbed.Status.ExclusiveFor)
}

// follow takes in the pods. Placeholders of other namespaces are none of the Testbed's.
func (s *testbedState) follow(o *observation, now time.Time) {
	if s.pods == nil {
		s.pods = map[string]slot.Pod{}
		if c := meta.FindStatusCondition(o.testbed.Status.Conditions, v1alpha1.TestbedReady); c == nil || c.Reason != v1alpha1.ReasonIdle {
			s.lastUse = now // the time of the last use is not stored
		}
	}
	there := make(map[string]bool, len(o.pods))
	for _, p := range o.pods {
		if p.Role == slot.Placeholder && p.Namespace != o.testbed.Namespace {
			continue
		}
		there[p.UID] = true
		if s.pods[p.UID] != p {
			s.pods[p.UID] = p
			_ = s.table.Observe(p, now) // all of them have UIDs
		}
	}
	for uid := range s.pods {
		if !there[uid] {
			delete(s.pods, uid)
			s.table.Forget(uid, now)
		}
	}
}

// claim sets the table's claims. A claim's slots hold what they held when it was first seen.
func (s *testbedState) claim(claims []claim.Claim, o *observation, size *placeholderSize, now time.Time) error {
	claimed := make(map[string]string, len(claims))
	all := make([]slot.Claim, len(claims))
	for i := range claims {
		c := &claims[i]
		text, known := s.claimed[c.JobUID]
		if !known {
			of := *size
			if resources := o.requested(c); resources != nil {
				of.resources = resources
			}
			text = s.spell(&of)
		}
		claimed[c.JobUID] = text
		all[i] = slot.Claim{Owner: c.JobUID, Slots: c.Slots, Size: text}
	}
	s.claimed = claimed
	return s.table.SetClaims(all, now)
}

// spell spells a size, and remembers it.
func (s *testbedState) spell(size *placeholderSize) string {
	text := size.String()
	if _, ok := s.sizes[text]; !ok {
		s.sizes[text] = *size
	}
	return text
}

// idle reports whether unclaimed slots go unreserved for now.
func (s *testbedState) idle(o *observation, claims int, now time.Time, out *outcome) bool {
	after := o.testbed.Spec.IdleAfter
	used := o.active || claims > 0
	if used || s.used {
		s.lastUse = now
	}
	s.used = used
	if after == nil {
		return false
	}
	if due := s.lastUse.Add(after.Duration); now.Before(due) {
		out.wake(due)
		return false
	}
	return true
}

// configure sets which slots the table is to have. It does so only after a change, since the table
// goes through all slots then.
func (s *testbedState) configure(o *observation, size *placeholderSize, idle bool, now time.Time, out *outcome) error {
	positions := slot.First(int(o.testbed.Spec.SlotsPerNode.IntVal))
	automatic := o.testbed.Spec.Automatic()
	if automatic {
		s.scale(o, now, out)
	}
	nodes := make([]slot.Node, 0, len(o.nodes))
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		if automatic {
			positions = s.autos[name].scale.Have
		}
		nodes = append(nodes, slot.Node{Name: name, Label: o.nodes[name], Positions: positions})
	}
	next := slot.Config{UID: string(o.testbed.UID), Order: s.config.Order, Size: s.spell(size), Idle: idle}
	if most := int(o.testbed.Spec.MaxSlots); s.config.Order == nil || most != s.most || !slices.Equal(nodes, s.nodes) {
		order, err := slot.NewOrder(nodes, most)
		if err != nil {
			return err
		}
		next.Order, s.nodes, s.most = order, nodes, most
	}
	if next == s.config {
		return nil
	}
	s.config = next
	s.forgetSizes()
	s.table.Configure(next, now)
	return nil
}

// forgetSizes keeps the sizes that something has.
func (s *testbedState) forgetSizes() {
	used := map[string]bool{s.config.Size: true}
	for _, text := range s.claimed {
		used[text] = true
	}
	maps.DeleteFunc(s.sizes, func(text string, _ placeholderSize) bool { return !used[text] })
}

// scale follows the nodes' room.
func (s *testbedState) scale(o *observation, now time.Time, out *outcome) {
	auto, none := autoOf(&o.testbed.Spec), noSlots(&o.testbed.Spec)
	maps.DeleteFunc(s.autos, func(name string, _ *autoNode) bool { _, ok := o.nodes[name]; return !ok })
	for name := range o.nodes {
		n := s.autos[name]
		if n == nil {
			n = &autoNode{}
			s.autos[name] = n
		}
		out.wake(n.step(auto, o.rooms, name, useOf(o.uses, name), now))
		if none {
			n.scale.Have, n.wanted, n.reason = slot.Positions{}, 0, ""
		}
	}
	// A source may forget to say that it has fallen silent.
	out.wake(now.Add(lookAgain))
}

// lookAgain is how often to look at what no watch follows.
const lookAgain = 10 * time.Second

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
	out.granted, err = t.Grant(applicants, s.config.Order.Slots(), s.table.Free(), now)
	return err
}

// wakeWaiting has the Testbed be looked at when a job may be tried again.
func (s *testbedState) wakeWaiting(candidate *v1alpha1.Scheduling, o *observation, out *outcome, now time.Time) {
	for _, name := range jobNames(candidate) {
		job := o.jobs(keyOf(name))
		if job == nil || job.Status.NotBefore == nil || job.Status.State != v1alpha1.BatchJobInQueue {
			continue
		}
		if at := job.Status.NotBefore.Time; at.After(now) {
			out.wake(at)
		}
	}
}

// refusal is a Scheduling that asks for what can't be granted to any.
type refusal struct {
	scheduling *v1alpha1.Scheduling
	err        error
}
