package testbeds

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// standing returns the slots of a role's pods that have a node, sorted.
func (r *rig) standing(role string) (slots []string) {
	r.Helper()
	for _, pod := range r.pods(role) {
		if live(&pod) {
			slots = append(slots, pod.Annotations[v1alpha1.AnnotationSlot])
		}
	}
	slices.Sort(slots)
	return slots
}

func (r *rig) waitStanding(role string, want ...string) {
	r.Helper()
	slices.Sort(want)
	r.eventually("pods stand in their slots", func() (bool, any) {
		got := r.standing(role)
		return slices.Equal(got, want), got
	})
}

func (r *rig) testbedConditions(name string) func() []metav1.Condition {
	return func() []metav1.Condition { return r.getTestbed(name).Status.Conditions }
}

// update changes an object until the API server accepts it.
func update[T client.Object](r *rig, name string, o T, edit func(T)) {
	r.Helper()
	r.eventually("update "+name, func() (bool, any) {
		got := fetch(r, name, o)
		edit(got)
		err := r.objects.Update(r.Context(), got)
		return err == nil, err
	})
}

// A Testbed reserves its slots on its nodes, one placeholder each, in the order of the nodes' label;
// their number follows the spec.
func TestSlotsFollowTestbed(t *testing.T) {
	r := newRig(t, 2)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2)
	r.waitCounts("bed", 4, 0, 0)
	r.waitStanding(v1alpha1.RolePlaceholder, r.slot(1, 0), r.slot(1, 1), r.slot(2, 0), r.slot(2, 1))
	r.waitCondition("bed", v1alpha1.TestbedReady, "True", v1alpha1.ReasonSlotsReady, r.testbedConditions("bed"))
	for _, placeholder := range r.pods(v1alpha1.RolePlaceholder) {
		got := placeholder.Spec.Containers[0].Resources.Requests
		if got.Cpu().Value() != 1 || got.Memory().Value() != 1<<30 || placeholder.Spec.SchedulerName != v1alpha1.SchedulerName ||
			*placeholder.Spec.TerminationGracePeriodSeconds != 0 || placeholder.Annotations[v1alpha1.AnnotationOptOut] != "true" {
			t.Errorf("placeholder %s: %+v", placeholder.Name, placeholder.Spec)
		}
	}
	nodes := r.getTestbed("bed").Status.Nodes
	if len(nodes) != 2 || nodes[0].Name != r.nodes[0] || nodes[0].ID != 0 || nodes[1].Name != r.nodes[1] || nodes[1].ID != 1 || nodes[1].Slots != 2 {
		t.Errorf("nodes %+v", nodes)
	}
	update(r, "bed", &v1alpha1.Testbed{}, func(t *v1alpha1.Testbed) { t.Spec.SlotsPerNode = intstr.FromInt(1) })
	r.waitCounts("bed", 2, 0, 0)
	r.waitStanding(v1alpha1.RolePlaceholder, r.slot(1, 0), r.slot(2, 0))
	update(r, "bed", &v1alpha1.Testbed{}, func(t *v1alpha1.Testbed) { t.Spec.ResourcesPerSlot = amounts("2", "1Gi") })
	r.eventually("placeholders hold two cores", func() (bool, any) {
		for _, placeholder := range r.pods(v1alpha1.RolePlaceholder) {
			if placeholder.Spec.Containers[0].Resources.Requests.Cpu().Value() != 2 {
				return false, placeholder.Name
			}
		}
		return true, nil
	})
	r.join(1)
	r.waitCounts("bed", 3, 0, 0)
	// More than fit the nodes: the placeholders that no scheduler can place are pending.
	update(r, "bed", &v1alpha1.Testbed{}, func(t *v1alpha1.Testbed) { t.Spec.SlotsPerNode = intstr.FromInt(3) })
	r.eventually("three slots are pending", func() (bool, any) {
		c := r.getTestbed("bed").Status.Counts
		return c.Slots == 9 && c.Free == 6 && c.Pending == 3, c
	})
	r.waitCondition("bed", v1alpha1.TestbedReady, "False", v1alpha1.ReasonWaitingForCapacity, r.testbedConditions("bed"))
	update(r, "bed", &v1alpha1.Testbed{}, func(t *v1alpha1.Testbed) { t.Spec.SlotsPerNode = intstr.FromInt(2) })
	r.waitCounts("bed", 6, 0, 0)
	r.finish()
}

// removeNode removes a node from the cluster with its pods, as a cluster's pod garbage collector does.
func (r *rig) removeNode(name string) {
	r.Helper()
	if err := r.plain.CoreV1().Nodes().Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for _, pod := range append(r.pods(v1alpha1.RolePlaceholder), r.pods(v1alpha1.RoleSlot)...) {
		if pod.Spec.NodeName == name {
			if err := r.plain.CoreV1().Pods(r.namespace).Delete(r.Context(), pod.Name, now); client.IgnoreNotFound(err) != nil {
				r.Fatal(err)
			}
		}
	}
}

// patchNode changes a node as kubectl does.
func (r *rig) patchNode(name, patch string) {
	r.Helper()
	if _, err := r.plain.CoreV1().Nodes().Patch(r.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		r.Fatal(err)
	}
}

// A node is removed, with a job's pod or without, and another gets its name: slots are removed and
// added, and what ran there runs again where it has slots.
func TestNodeLeaves(t *testing.T) {
	r := newRig(t, 3)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 1)
	r.waitCounts("bed", 3, 0, 0)
	r.removeNode(r.nodes[2])
	r.waitCounts("bed", 2, 0, 0)
	r.waitStanding(v1alpha1.RolePlaceholder, r.slot(1, 0), r.slot(2, 0))

	// With a pod: its run fails, and the next one gets existing slots.
	r.job("job", forever, retries(1))
	r.queue("first", "bed", []string{"job"})
	r.waitJob("job", v1alpha1.BatchJobRunning)
	r.waitStanding(v1alpha1.RoleSlot, r.slot(1, 0))
	r.removeNode(r.nodes[0])
	r.eventually("the job runs on the other node", func() (bool, any) {
		got := r.standing(v1alpha1.RoleSlot)
		return slices.Equal(got, []string{r.slot(2, 0)}), got
	})
	for _, n := range []int{0, 2} {
		spec := simnode.NodeSpec{Name: r.nodes[n], Cores: nodeCores, Memory: 16 << 30, Labels: map[string]string{r.label: "9"}}
		if err := simnode.Register(r.Context(), r.plain, spec); err != nil {
			t.Fatal(err)
		}
	}
	r.waitCounts("bed", 2, 0, 1)
	nodes := r.getTestbed("bed").Status.Nodes
	if len(nodes) != 3 || nodes[0].Name != r.nodes[1] || nodes[1].Name != r.nodes[0] || nodes[2].Name != r.nodes[2] {
		t.Errorf("nodes by label, then by name: %+v", nodes)
	}
	r.finish()
}

// retries lets a job be retried so often, at once.
func retries(limit int32) func(*v1alpha1.BatchJobSpec) {
	return func(s *v1alpha1.BatchJobSpec) {
		s.Retry = v1alpha1.Retry{Limit: limit, Delay: &metav1.Duration{}}
	}
}

// A cordoned node keeps its running pods and gets no more until it is uncordoned; a node without its
// label keeps its job's slot until the job releases it.
func TestNodeCordonedRelabelled(t *testing.T) {
	r := newRig(t, 2)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 1)
	r.waitCounts("bed", 2, 0, 0)
	r.job("stays", forever)
	r.job("waits", forever)
	r.queue("first", "bed", []string{"stays"})
	r.waitJob("stays", v1alpha1.BatchJobRunning)
	r.waitStanding(v1alpha1.RoleSlot, r.slot(1, 0))

	for _, node := range r.nodes {
		r.patchNode(node, `{"spec":{"unschedulable":true}}`)
	}
	r.queue("second", "bed", []string{"waits"})
	r.waitJob("waits", v1alpha1.BatchJobSubmitted)
	r.waitCounts("bed", 0, 1, 1)
	for _, node := range r.nodes {
		r.patchNode(node, `{"spec":{"unschedulable":false}}`)
	}
	r.waitJob("waits", v1alpha1.BatchJobRunning)
	r.waitCounts("bed", 0, 0, 2)

	// A new order moves nothing.
	r.patchNode(r.nodes[0], `{"metadata":{"labels":{"`+r.label+`":"5"}}}`)
	r.eventually("the nodes are in the other order", func() (bool, any) {
		nodes := r.getTestbed("bed").Status.Nodes
		return len(nodes) == 2 && nodes[0].Name == r.nodes[1], nodes
	})
	// Without its label a node keeps a slot while that is claimed.
	r.patchNode(r.nodes[0], `{"metadata":{"labels":{"`+r.label+`":null}}}`)
	r.eventually("the slot retires", func() (bool, any) {
		c := r.getTestbed("bed").Status.Counts
		return c.Retiring == 1, c
	})
	r.waitStanding(v1alpha1.RoleSlot, r.slot(1, 0), r.slot(2, 0))
	r.delete(&v1alpha1.Scheduling{}, "first")
	r.waitJob("stays", v1alpha1.BatchJobReady)
	r.waitCounts("bed", 0, 0, 1)
	r.waitStanding(v1alpha1.RolePlaceholder)
	r.finish()
}

// A placeholder is evicted for a pod of a higher priority, which the default scheduler places, and
// returns after that one is gone.
func TestPlaceholderEvicted(t *testing.T) {
	r := newRig(t, 2)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2, func(s *v1alpha1.TestbedSpec) { s.ResourcesPerSlot = amounts("2", "1Gi") })
	r.waitCounts("bed", 4, 0, 0)
	r.job("job", forever)
	r.queue("first", "bed", []string{"job"})
	r.waitJob("job", v1alpha1.BatchJobRunning)

	critical := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "critical", Annotations: map[string]string{simnode.AnnotationIdle: "true"}},
		Spec: corev1.PodSpec{
			PriorityClassName: "system-cluster-critical",
			NodeSelector:      map[string]string{corev1.LabelHostname: r.nodes[1]},
			Containers:        []corev1.Container{{Name: "main", Image: "spazio.invalid/none", Resources: corev1.ResourceRequirements{Requests: amounts("1", "1Gi")}}},
		},
	}
	r.create(critical)
	r.eventually("the critical pod runs", func() (bool, any) {
		pod := fetch(r, "critical", &corev1.Pod{})
		return pod.Status.Phase == corev1.PodRunning, pod.Status
	})
	r.eventually("the slot is pending", func() (bool, any) {
		c := r.getTestbed("bed").Status.Counts
		return c.Slots == 4 && c.Pending == 1, c
	})
	r.delete(&corev1.Pod{}, "critical")
	r.waitCounts("bed", 3, 0, 1)
	if runs := r.getJob("job").Status.Runs; len(runs) != 1 {
		t.Errorf("job on the other node: got runs %+v", runs)
	}
	r.finish()
}
