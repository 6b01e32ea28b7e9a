package controller

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// allotment is what a Testbed may use.
type allotment struct {
	// nodes may carry its slots, each with the value of its label; lost are those that it wants
	// and another Testbed has.
	nodes map[string]string
	lost  map[string]testbed.Name
}

// observe finds out what there is to know of the Testbed.
func (r *testbeds) observe(ctx context.Context, tb *v1alpha1.Testbed) (*observation, error) {
	pods, err := r.podsOf(ctx, tb.UID)
	if err != nil {
		return nil, err
	}
	allot, err := r.allotted(ctx, tb)
	if err != nil {
		return nil, err
	}
	o := &observation{
		testbed: tb, pods: pods, nodes: allot.nodes, lost: allot.lost, rooms: r.options.Rooms, claimable: r.claimable, jobs: r.jobs(ctx),
	}
	if err := r.observeSchedulings(ctx, o); err != nil {
		return nil, err
	}
	if err := r.observeOrphans(ctx, o); err != nil {
		return nil, err
	}
	if tb.Spec.Automatic() {
		o.uses = usesOf(pods, tb.Namespace, sizeOf(&tb.Spec).units)
		claims, _ := parseClaims(tb.Status.Claims) // step reports an error
		for i := range claims {
			for _, id := range claims[i].Slots {
				use := useOf(o.uses, id.Node)
				use.busy = use.busy.With(id.Position)
			}
		}
	}
	return o, nil
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
func (r *testbeds) observeSchedulings(ctx context.Context, o *observation) error {
	name := nameOf(o.testbed)
	list := &v1alpha1.SchedulingList{}
	if err := r.cached.List(ctx, list, client.MatchingFields{schedulingTestbed: name.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	exclusive := o.testbed.Status.ExclusiveFor
	locked, admitted := exclusive == "", map[string]bool{}
	for i := range list.Items {
		s := &list.Items[i]
		if s.UID == exclusive {
			locked = !isReleased(s, o.testbed)
		}
		if s.DeletionTimestamp != nil {
			continue
		}
		ok, known := admitted[s.Namespace]
		if !known {
			var err error
			if ok, err = allowed(ctx, r.live, &o.testbed.Spec.AllowedNamespaces, o.testbed.Namespace, s.Namespace); err != nil {
				return err
			}
			admitted[s.Namespace] = ok
		}
		if !ok {
			o.denied = true
			continue
		}
		o.active = o.active || uses(s)
		o.candidates = append(o.candidates, s)
	}
	if !locked {
		gone, err := r.schedulingGone(ctx, list.Items, exclusive, o.testbed)
		if err != nil {
			return err
		}
		o.unlocked = gone
	}
	return nil
}

// uses reports whether the Scheduling may still want slots.
func uses(s *v1alpha1.Scheduling) bool {
	if s.Status.State == v1alpha1.SchedulingCompleted || s.Status.State == v1alpha1.SchedulingFailed {
		return false
	}
	feasible := slices.IndexFunc(s.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1alpha1.SchedulingFeasible && c.Status == metav1.ConditionFalse
	})
	return feasible < 0
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
func (r *testbeds) observeOrphans(ctx context.Context, o *observation) error {
	live := map[string]bool{} // jobs with pods that have not ended, bound or not
	for i := range o.pods {
		if p := &o.pods[i]; p.Role == slot.Occupant && !p.Terminal {
			live[p.Owner] = true
		}
	}
	for i := range o.testbed.Status.Claims {
		c := &o.testbed.Status.Claims[i]
		name, err := testbed.ParseName(c.BatchJob)
		if err != nil {
			continue // step reports it
		}
		if job := o.jobs(keyOf(name)); job != nil && job.UID == c.BatchJobUID {
			continue
		}
		if live[string(c.BatchJobUID)] {
			continue
		}
		job := &metav1.PartialObjectMetadata{}
		job.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BatchJob"))
		err = r.live.Get(ctx, keyOf(name), job)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil && job.UID == c.BatchJobUID {
			continue
		}
		if o.orphans == nil {
			o.orphans = map[types.UID]bool{}
		}
		o.orphans[c.BatchJobUID] = true
	}
	return nil
}

// allotted returns what the Testbed may use of the nodes that several want.
func (r *testbeds) allotted(ctx context.Context, tb *v1alpha1.Testbed) (allotment, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.allotments[tb.UID]; r.stale || !known {
		if err := r.share(ctx, tb); err != nil {
			return allotment{}, err
		}
	}
	return r.allotments[tb.UID], nil
}

// share decides for all Testbeds which nodes each may use, and wakes those for whom
// that changes. r.mu is held.
func (r *testbeds) share(ctx context.Context, tb *v1alpha1.Testbed) error {
	list := &v1alpha1.TestbedList{}
	if err := r.cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	var nodes corev1.NodeList
	if err := r.cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	all := list.Items
	if !slices.ContainsFunc(all, func(t v1alpha1.Testbed) bool { return t.UID == tb.UID }) {
		all = append(slices.Clone(all), *tb)
	}
	tenants, matching := make([]slot.Tenant, len(all)), make([]map[string]string, len(all))
	for i := range all {
		t := &all[i]
		selector := labels.Everything()
		if t.Spec.NodeSelector != nil {
			var err error
			if selector, err = metav1.LabelSelectorAsSelector(t.Spec.NodeSelector); err != nil {
				r.logger.Warn("a Testbed selects no nodes", "testbed", client.ObjectKeyFromObject(t).String(), "error", err)
				selector = labels.Nothing()
			}
		}
		matching[i] = matchingNodes(t, selector, nodes.Items)
		pods, err := r.podsOf(ctx, t.UID)
		if err != nil {
			return err
		}
		tenants[i] = slot.Tenant{
			Name: nameOf(t), Created: t.CreationTimestamp.Time,
			Shared: t.Spec.Sharing == v1alpha1.Shared, Holds: heldNodes(pods),
		}
		tenants[i].Nodes = slices.Collect(maps.Keys(matching[i]))
	}
	r.stale = false
	before := r.allotments
	r.allotments = make(map[types.UID]allotment, len(all))
	for i, lost := range slot.Share(tenants) {
		next := allotment{matching[i], lost}
		for node := range lost {
			delete(next.nodes, node)
		}
		r.allotments[all[i].UID] = next
		if all[i].UID != tb.UID && !sameAllotment(before[all[i].UID], next) {
			r.wake(client.ObjectKeyFromObject(&all[i]), soon)
		}
	}
	return nil
}

// matchingNodes returns the nodes that the Testbed wants, each with the value of its label. A
// Testbed that is being deleted wants none.
func matchingNodes(tb *v1alpha1.Testbed, selector labels.Selector, nodes []corev1.Node) map[string]string {
	out := map[string]string{}
	if tb.DeletionTimestamp != nil {
		return out
	}
	for i := range nodes {
		of := nodes[i].Labels
		if value, ok := of[tb.Spec.NodeLabel]; ok && selector.Matches(labels.Set(of)) {
			out[nodes[i].Name] = value
		}
	}
	return out
}
