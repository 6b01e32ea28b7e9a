package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// testbedLook is one look at a Testbed: what was found, and what follows from it.
type testbedLook struct {
	alarm
	r   *testbeds
	s   *testbedState
	tb  *v1alpha1.Testbed
	now time.Time
	// pods are those in its slots.
	pods []slot.Pod
	// nodes may carry the Testbed's slots, each with the value of its label; lost are those
	// that it wants and another Testbed has.
	nodes map[string]string
	lost  map[string]testbed.Name
	jobs  jobLookup
	// candidates are the Schedulings that the Testbed admits. active reports whether one has not
	// ended, denied whether one is not admitted, by its namespace.
	candidates     []*v1alpha1.Scheduling
	active, denied bool
	// orphans are the jobs that are gone, with all their pods. unlocked reports whether the
	// Scheduling that has the Testbed for itself is gone too, or needs that no more.
	orphans  map[types.UID]bool
	unlocked bool

	// next is what the status is to be, with the claims that are granted, and without those
	// that were released as their jobs are gone.
	next     v1alpha1.TestbedStatus
	granted  []claim.Claim
	released int
}

// jobLookup returns the BatchJob of a name, nil if there is none. It is not to be modified.
type jobLookup func(types.NamespacedName) *v1alpha1.BatchJob

// claimable says what a Scheduling may be granted; see claimableIn.
type claimable func(*v1alpha1.Scheduling, *v1alpha1.Testbed, *slot.Order, func(types.NamespacedName) *v1alpha1.BatchJob, time.Time) (claim.Scheduling, bool, error)

// observe finds out what there is to know of the Testbed.
func (l *testbedLook) observe(ctx context.Context) (err error) {
	if l.pods, err = l.r.podsOf(ctx, l.tb.UID); err != nil {
		return err
	}
	if err := l.share(ctx); err != nil {
		return err
	}
	if err := l.observeSchedulings(ctx); err != nil {
		return err
	}
	return l.observeOrphans(ctx)
}

// jobs returns a look-up of BatchJobs in the cache that reads each once. What it returns
// is not to be modified.
func (r *testbeds) jobs(ctx context.Context) jobLookup {
	known := map[types.NamespacedName]*v1alpha1.BatchJob{}
	return func(name types.NamespacedName) *v1alpha1.BatchJob {
		job, ok := known[name]
		if !ok {
			job = &v1alpha1.BatchJob{}
			if err := r.cached.Get(ctx, name, job, client.UnsafeDisableDeepCopy); err != nil {
				job = nil
			}
			known[name] = job
		}
		return job
	}
}

// observeSchedulings finds those that want slots of the Testbed.
func (l *testbedLook) observeSchedulings(ctx context.Context) error {
	list := &v1alpha1.SchedulingList{}
	if err := l.r.cached.List(ctx, list, client.MatchingFields{schedulingTestbed: nameOf(l.tb).String()}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	exclusive := l.tb.Status.ExclusiveFor
	locked, admitted := exclusive == "", map[string]bool{}
	for i := range list.Items {
		s := &list.Items[i]
		if s.UID == exclusive {
			locked = !isReleased(s, l.tb)
		}
		if s.DeletionTimestamp != nil {
			continue
		}
		if _, known := admitted[s.Namespace]; !known {
			ok, err := allowed(ctx, l.r.live, &l.tb.Spec.AllowedNamespaces, l.tb.Namespace, s.Namespace)
			if err != nil {
				return err
			}
			admitted[s.Namespace] = ok
		}
		if !admitted[s.Namespace] {
			l.denied = true
			continue
		}
		l.active = l.active || uses(s)
		l.candidates = append(l.candidates, s)
	}
	if locked {
		return nil
	}
	var err error
	l.unlocked, err = l.r.schedulingGone(ctx, list.Items, exclusive, l.tb)
	return err
}

// uses reports whether the Scheduling may still want slots.
func uses(s *v1alpha1.Scheduling) bool {
	return s.Status.State != v1alpha1.SchedulingCompleted && s.Status.State != v1alpha1.SchedulingFailed &&
		!meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.SchedulingFeasible)
}

// isReleased reports whether the Scheduling that has the Testbed for itself needs that no more.
func isReleased(s *v1alpha1.Scheduling, tb *v1alpha1.Testbed) bool {
	held := slices.ContainsFunc(tb.Status.Claims, func(c v1alpha1.Claim) bool { return c.SchedulingUID == s.UID })
	switch {
	case held:
		return false
	case s.Status.State == v1alpha1.SchedulingCompleted || s.Status.State == v1alpha1.SchedulingFailed:
		return true
	}
	return !s.Spec.Exclusive
}

// schedulingGone reports whether the Scheduling that has the Testbed for itself does not exist,
// or releases it. That it does not exist is read from the API server: a cache that was just filled
// may be older than what another controller has seen.
func (r *testbeds) schedulingGone(ctx context.Context, known []v1alpha1.Scheduling, uid types.UID, tb *v1alpha1.Testbed) (bool, error) {
	if slices.ContainsFunc(known, func(s v1alpha1.Scheduling) bool { return s.UID == uid }) {
		return true, nil // it was looked at, and releases it
	}
	if slices.ContainsFunc(tb.Status.Claims, func(c v1alpha1.Claim) bool { return c.SchedulingUID == uid }) {
		return false, nil
	}
	namespaces := r.options.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SchedulingList"))
		if err := r.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		if slices.ContainsFunc(list.Items, func(s metav1.PartialObjectMetadata) bool { return s.UID == uid }) {
			return false, nil
		}
	}
	return true, nil
}

// observeOrphans finds the claims of jobs that are gone, with all their pods. That a job
// is gone is asked of the API server, too.
func (l *testbedLook) observeOrphans(ctx context.Context) error {
	live := map[string]bool{} // jobs with pods that have not ended, bound or not
	for i := range l.pods {
		if p := &l.pods[i]; p.Role == slot.Occupant && !p.Terminal {
			live[p.Owner] = true
		}
	}
	l.orphans = map[types.UID]bool{}
	for i := range l.tb.Status.Claims {
		c := &l.tb.Status.Claims[i]
		name, err := testbed.ParseName(c.BatchJob)
		if err != nil || live[string(c.BatchJobUID)] { // decide reports the error
			continue
		}
		if job := l.jobs(keyOf(name)); job != nil && job.UID == c.BatchJobUID {
			continue
		}
		job := &metav1.PartialObjectMetadata{}
		job.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BatchJob"))
		err = l.r.live.Get(ctx, keyOf(name), job)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		l.orphans[c.BatchJobUID] = err != nil || job.UID != c.BatchJobUID
	}
	return nil
}

// share finds out which nodes the Testbed may use of those that several want.
func (l *testbedLook) share(ctx context.Context) error {
	var beds v1alpha1.TestbedList
	var nodes corev1.NodeList
	if err := errors.Join(l.r.cached.List(ctx, &beds, client.UnsafeDisableDeepCopy), l.r.cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy)); err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(beds.Items), func(t v1alpha1.Testbed) bool { return t.UID == l.tb.UID })
	l.nodes = l.r.matchingNodes(l.tb, nodes.Items)
	tenants := []slot.Tenant{tenantOf(l.tb, l.nodes, l.pods)}
	for i := range others {
		pods, err := l.r.podsOf(ctx, others[i].UID)
		if err != nil {
			return err
		}
		tenants = append(tenants, tenantOf(&others[i], l.r.matchingNodes(&others[i], nodes.Items), pods))
	}
	l.lost = slot.Share(tenants)[0]
	for node := range l.lost {
		delete(l.nodes, node)
	}
	return nil
}

func tenantOf(tb *v1alpha1.Testbed, nodes map[string]string, pods []slot.Pod) slot.Tenant {
	return slot.Tenant{
		Name: nameOf(tb), Created: tb.CreationTimestamp.Time, Shared: tb.Spec.Sharing == v1alpha1.Shared,
		Nodes: slices.Collect(maps.Keys(nodes)), Holds: heldNodes(pods),
	}
}

// matchingNodes returns the nodes that the Testbed wants, each with the value of its label. A
// Testbed that is being deleted wants none, nor does one whose selector is invalid.
func (r *testbeds) matchingNodes(tb *v1alpha1.Testbed, nodes []corev1.Node) map[string]string {
	out := map[string]string{}
	selector := labels.Everything()
	if tb.Spec.NodeSelector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(tb.Spec.NodeSelector); err != nil {
			r.logger.Warn("a Testbed selects no nodes", "testbed", client.ObjectKeyFromObject(tb).String(), "error", err)
			return out
		}
	}
	for i := range nodes {
		of := nodes[i].Labels
		if value, ok := of[tb.Spec.NodeLabel]; ok && tb.DeletionTimestamp == nil && selector.Matches(labels.Set(of)) {
			out[nodes[i].Name] = value
		}
	}
	return out
}

// testbedOf is the UID of the Testbed in whose slots the pod is, or is to be; empty if there is none.
func testbedOf(p *corev1.Pod) types.UID {
	if p == nil || !inSlots(p) || p.UID == "" {
		return ""
	}
	return types.UID(p.Labels[v1alpha1.LabelTestbedUID])
}

// podsOf lists the pods in the slots of a Testbed, jobs' pods that are not bound yet among them.
func (r *testbeds) podsOf(ctx context.Context, uid types.UID) ([]slot.Pod, error) {
	var list corev1.PodList
	if err := r.cached.List(ctx, &list, client.MatchingFields{podTestbed: string(uid)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	pods := make([]slot.Pod, 0, len(list.Items))
	for i := range list.Items {
		if testbedOf(&list.Items[i]) == uid {
			pods = append(pods, workload.SlotPod(&list.Items[i]))
		}
	}
	return pods, nil
}

// heldNode is the node that the pod makes its Testbed's: a placeholder's, and that of a job's
// live pod; empty if there is none.
func heldNode(p *slot.Pod) string {
	if p.Role == slot.Placeholder || p.Node != "" && !p.Terminal {
		return p.Slot.Node
	}
	return ""
}

// heldNodes are the nodes on which there are placeholders or live pods.
func heldNodes(pods []slot.Pod) []string {
	var nodes []string
	for i := range pods {
		if node := heldNode(&pods[i]); node != "" {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// usesOf is what a Testbed has on each node: placeholders, of its own namespace alone, each
// of which holds so many units, jobs' pods, and claims.
func usesOf(pods []slot.Pod, namespace string, units float64, claims []claim.Claim) map[string]*nodeUse {
	uses := map[string]*nodeUse{}
	for i := range pods {
		p := &pods[i]
		if p.Terminal || p.Slot == (slot.ID{}) || p.Role == slot.Placeholder && p.Namespace != namespace {
			continue
		}
		use := useOf(uses, p.Slot.Node)
		switch {
		case p.Role == slot.Placeholder:
			use.there = use.there.With(p.Slot.Position)
			if p.Node == p.Slot.Node {
				use.held += units
			}
		case p.Node == p.Slot.Node:
			use.busy, use.pods = use.busy.With(p.Slot.Position), use.pods.With(p.Slot.Position)
		}
	}
	for i := range claims {
		for _, id := range claims[i].Slots {
			use := useOf(uses, id.Node)
			use.busy = use.busy.With(id.Position)
		}
	}
	return uses
}

func useOf(uses map[string]*nodeUse, node string) *nodeUse {
	use := uses[node]
	if use == nil {
		use = &nodeUse{}
		uses[node] = use
	}
	return use
}
