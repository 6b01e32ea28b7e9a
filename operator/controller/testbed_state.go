package controller

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// testbedState is what is kept of a Testbed between two looks. All of it can be made anew from
// the API, except since when something has been so. It is used by one look at a time.
type testbedState struct {
	uid    types.UID
	table  *slot.Table
	config slot.Config
	// claimed is what each claim's slots hold, by the job's UID, and sizes are those that slots
	// have, by their spelling.
	claimed, sizes map[string]placeholderSize
	autos          map[string]*autoNode
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
	ops        ops
	// automatic reports whether the slots follow measured room; it is read by others.
	automatic atomic.Bool
}

func newTestbedState(uid types.UID) *testbedState {
	return &testbedState{uid: uid, table: slot.NewTable(), autos: map[string]*autoNode{}}
}

// decide takes in what was found and works out the status. Nothing is done but to the state.
func (l *testbedLook) decide() error {
	l.s.automatic.Store(l.tb.Spec.Automatic())
	l.follow()
	stored := slices.DeleteFunc(slices.Clone(l.tb.Status.Claims), func(c v1alpha1.Claim) bool { return l.orphans[c.BatchJobUID] })
	l.released = len(l.tb.Status.Claims) - len(stored)
	claims, err := parseClaims(stored)
	if err != nil {
		return err
	}
	table := &claim.Table{Claims: slices.Clip(claims), ExclusiveFor: l.exclusiveFor()}
	if err := l.setClaims(claims); err != nil {
		return err
	}
	if err := l.configure(claims); err != nil {
		return err
	}
	if err := l.grant(table); err != nil {
		return err
	}
	if len(l.granted) > 0 {
		stored = append(stored, claimsToStore(l.granted)...)
		if err := l.setClaims(append(claims, l.granted...)); err != nil {
			return err
		}
	}
	if l.denied && l.tb.Spec.AllowedNamespaces.From == v1alpha1.FromSelector {
		l.wake(l.now.Add(lookAgain)) // namespaces' labels are not followed
	}
	l.next = l.status(stored, types.UID(table.ExclusiveFor))
	return nil
}

// exclusiveFor is the Scheduling that has the Testbed for itself, and still wants that.
func (l *testbedLook) exclusiveFor() string {
	if l.unlocked {
		return ""
	}
	return string(l.tb.Status.ExclusiveFor)
}

// follow takes in the pods. Placeholders of other namespaces are none of the Testbed's.
func (l *testbedLook) follow() {
	s := l.s
	if s.pods == nil {
		s.pods = map[string]slot.Pod{}
		if c := meta.FindStatusCondition(l.tb.Status.Conditions, v1alpha1.TestbedReady); c == nil || c.Reason != v1alpha1.ReasonIdle {
			s.lastUse = l.now // the time of the last use is not stored
		}
	}
	there := make(map[string]bool, len(l.pods))
	for _, p := range l.pods {
		if p.Role == slot.Placeholder && p.Namespace != l.tb.Namespace {
			continue
		}
		there[p.UID] = true
		if s.pods[p.UID] != p {
			s.pods[p.UID] = p
			_ = s.table.Observe(p, l.now) // all of them have UIDs
		}
	}
	for uid := range s.pods {
		if !there[uid] {
			delete(s.pods, uid)
			s.table.Forget(uid, l.now)
		}
	}
}

// setClaims sets the table's claims. A claim's slots hold what they held when it was first seen.
func (l *testbedLook) setClaims(claims []claim.Claim) error {
	size := sizeOf(&l.tb.Spec)
	claimed := make(map[string]placeholderSize, len(claims))
	sizes := map[string]placeholderSize{size.String(): size}
	all := make([]slot.Claim, len(claims))
	for i := range claims {
		c := &claims[i]
		of, known := l.s.claimed[c.JobUID]
		if !known {
			of = size
			if resources := l.requested(c); resources != nil {
				of.resources = resources
			}
		}
		text := of.String()
		claimed[c.JobUID], sizes[text] = of, of
		all[i] = slot.Claim{Owner: c.JobUID, Slots: c.Slots, Size: text}
	}
	l.s.claimed, l.s.sizes = claimed, sizes
	return l.s.table.SetClaims(all, l.now)
}

// requested is what a job's claimed slots hold, as its creation request has it; nil if
// it has none.
func (l *testbedLook) requested(c *claim.Claim) corev1.ResourceList {
	job := l.jobs(keyOf(c.Job))
	if job == nil || string(job.UID) != c.JobUID {
		return nil
	}
	request := job.Status.CreationRequest
	if request == nil || request.Testbed.UID != l.tb.UID {
		return nil
	}
	return request.Resources
}

// idle reports whether unclaimed slots go unreserved for now.
func (l *testbedLook) idle(claimed bool) bool {
	s, used := l.s, l.active || claimed
	if used || s.used {
		s.lastUse = l.now
	}
	s.used = used
	after := l.tb.Spec.IdleAfter
	if after == nil {
		return false
	}
	due := s.lastUse.Add(after.Duration)
	if l.now.Before(due) {
		l.wake(due)
		return false
	}
	return true
}

// configure sets which slots the table is to have.
func (l *testbedLook) configure(claims []claim.Claim) error {
	spec, size := &l.tb.Spec, sizeOf(&l.tb.Spec)
	positions := slot.First(int(spec.SlotsPerNode.IntVal))
	if spec.Automatic() {
		l.scale(claims)
	}
	nodes := make([]slot.Node, 0, len(l.nodes))
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		if spec.Automatic() {
			positions = l.s.autos[name].scale.Have
		}
		nodes = append(nodes, slot.Node{Name: name, Label: l.nodes[name], Positions: positions})
	}
	order, err := slot.NewOrder(nodes, int(spec.MaxSlots))
	if err != nil {
		return err
	}
	l.s.config = slot.Config{UID: string(l.tb.UID), Order: order, Size: size.String(), Idle: l.idle(len(claims) > 0)}
	l.s.table.Configure(l.s.config, l.now)
	return nil
}

// scale follows the nodes' room.
func (l *testbedLook) scale(claims []claim.Claim) {
	auto, none := autoOf(&l.tb.Spec), noSlots(&l.tb.Spec)
	uses := usesOf(l.pods, l.tb.Namespace, sizeOf(&l.tb.Spec).units, claims)
	maps.DeleteFunc(l.s.autos, func(name string, _ *autoNode) bool { _, ok := l.nodes[name]; return !ok })
	for name := range l.nodes {
		n := l.s.autos[name]
		if n == nil {
			n = &autoNode{}
			l.s.autos[name] = n
		}
		l.wake(n.step(auto, l.r.options.Rooms, name, useOf(uses, name), l.now))
		if none {
			n.scale.Have, n.wanted, n.reason = slot.Positions{}, 0, ""
		}
	}
	// A source may forget to say that it has fallen silent.
	l.wake(l.now.Add(lookAgain))
}

// lookAgain is how often to look at what no watch follows.
const lookAgain = 10 * time.Second

// grant gives free slots to the Schedulings that want some, in their order. The table has
// what is granted, and has to be made anew if that is not stored.
func (l *testbedLook) grant(t *claim.Table) error {
	if l.tb.DeletionTimestamp != nil {
		return nil
	}
	var applicants []claim.Scheduling
	asking := map[string]time.Time{}
	for _, candidate := range l.candidates {
		a, wants, err := l.r.claimable(candidate, l.tb, l.s.config.Order, l.jobs, l.now)
		if err != nil {
			// What one asks for in vain must not keep the others waiting.
			l.r.logger.Warn("a Scheduling asks for what can't be granted", "scheduling", client.ObjectKeyFromObject(candidate).String(), "error", err)
			continue
		}
		l.wakeWaiting(candidate)
		if !wants {
			continue
		}
		applicants = append(applicants, a)
		asking[a.UID] = l.now
		if since, ok := l.s.asking[a.UID]; ok {
			asking[a.UID] = since
		}
	}
	l.s.asking = asking
	if len(applicants) == 0 {
		return nil
	}
	var err error
	l.granted, err = t.Grant(applicants, l.s.config.Order.Slots(), l.s.table.Free(), l.now)
	return err
}

// wakeWaiting has the Testbed be looked at when a job may be tried again.
func (l *testbedLook) wakeWaiting(candidate *v1alpha1.Scheduling) {
	for _, name := range jobNames(candidate) {
		job := l.jobs(keyOf(name))
		if job == nil || job.Status.NotBefore == nil || job.Status.State != v1alpha1.BatchJobInQueue {
			continue
		}
		if at := job.Status.NotBefore.Time; at.After(l.now) {
			l.wake(at)
		}
	}
}
