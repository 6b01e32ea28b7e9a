package view_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/view"
)

const uid = "590f6f41-4acd-4b6d"

// bed returns a Testbed of two slots on each of two nodes, b before a.
func bed() *v1alpha1.Testbed {
	return &v1alpha1.Testbed{
		ObjectMeta: metav1.ObjectMeta{Name: "bed", Namespace: "lab", UID: uid},
		Spec:       v1alpha1.TestbedSpec{SlotsPerNode: intstr.FromInt32(2), MaxSlots: 5000},
		Status: v1alpha1.TestbedStatus{Nodes: []v1alpha1.TestbedNode{
			{Name: "b", ID: 0, Slots: 2, Wanted: 2}, {Name: "a", ID: 1, Slots: 2, Wanted: 2},
		}},
	}
}

func automatic(slots int32) *v1alpha1.Testbed {
	t := bed()
	t.Spec.SlotsPerNode = intstr.FromString(v1alpha1.SlotsAuto)
	t.Status.Nodes = []v1alpha1.TestbedNode{{Name: "b", Slots: slots, Wanted: 3}}
	return t
}

func claim(t *v1alpha1.Testbed, job string, slots ...string) *v1alpha1.Testbed {
	t.Status.Claims = append(t.Status.Claims, v1alpha1.Claim{BatchJobUID: types.UID(job), BatchJob: "lab/" + job, Slots: slots})
	return t
}

var created = metav1.NewTime(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))

// pod returns one in a slot of bed; a placeholder without a job.
func pod(job, slot, node string, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p-" + job + "-" + slot[2:], Namespace: "lab", UID: types.UID("u-" + job + slot), CreationTimestamp: created,
			Labels:      map[string]string{v1alpha1.LabelTestbedUID: uid, v1alpha1.LabelRole: v1alpha1.RolePlaceholder},
			Annotations: map[string]string{v1alpha1.AnnotationSlot: slot},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
	if job != "" {
		p.Labels[v1alpha1.LabelRole], p.Labels[v1alpha1.LabelBatchJobUID] = v1alpha1.RoleSlot, job
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func ended(p *corev1.Pod)    { p.Status.Phase = corev1.PodSucceeded }
func deleting(p *corev1.Pod) { p.DeletionTimestamp = &created }
func another(p *corev1.Pod)  { p.Labels[v1alpha1.LabelTestbedUID] = "another" }
func unbound(p *corev1.Pod)  { p.Annotations = nil }

func TestSlots(t *testing.T) {
	idle := bed()
	idle.Status.Conditions = []metav1.Condition{{Type: v1alpha1.TestbedReady, Reason: v1alpha1.ReasonIdle}}
	cut := bed()
	cut.Spec.MaxSlots, cut.Status.Nodes[1].Slots = 3, 1
	for name, test := range map[string]struct {
		bed  *v1alpha1.Testbed
		pods []corev1.Pod
		want []string
	}{
		"no status": {&v1alpha1.Testbed{}, nil, nil},
		"nothing there": {bed(), nil, []string{
			"0 b/0 pending", "1 a/0 pending", "2 b/1 pending", "3 a/1 pending",
		}},
		"placeholders": {bed(), []corev1.Pod{pod("", "b/0", "b"), pod("", "a/0", ""), pod("", "b/1", "b", deleting), pod("", "a/1", "a", another)}, []string{
			"0 b/0 free", "1 a/0 pending", "2 b/1 pending", "3 a/1 pending",
		}},
		"a job": {claim(bed(), "j", "b/0", "b/1"), []corev1.Pod{pod("j", "b/0", "b"), pod("", "b/1", "b"), pod("j", "a/0", "", unbound)}, []string{
			"0 b/0 occupied lab/j p-j-0", "1 a/0 pending", "2 b/1 reserved lab/j", "3 a/1 pending",
		}},
		"a pod that has ended": {claim(bed(), "j", "b/0"), []corev1.Pod{pod("j", "b/0", "b", ended)}, []string{
			"0 b/0 reserved lab/j", "1 a/0 pending", "2 b/1 pending", "3 a/1 pending",
		}},
		"a node that is gone": {claim(bed(), "j", "c/0"), []corev1.Pod{pod("j", "c/0", "c"), pod("k", "d/0", "d")}, []string{
			"0 b/0 pending", "1 a/0 pending", "2 b/1 pending", "3 a/1 pending", "4 c/0 retiring lab/j p-j-0", "5 d/0 retiring p-k-0",
		}},
		"idle": {idle, []corev1.Pod{pod("", "b/0", "b")}, []string{
			"0 b/0 pending", "1 a/0 pending", "2 b/1 pending", "3 a/1 pending",
		}},
		"cut": {cut, []corev1.Pod{pod("", "b/0", "b")}, []string{"0 b/0 free", "1 a/0 pending", "2 b/1 pending"}},
		// Positions have gaps on a node whose slots follow measured room.
		"auto": {claim(automatic(2), "j", "b/3"), []corev1.Pod{pod("", "b/1", "b"), pod("j", "b/3", "b")}, []string{
			"0 b/1 free", "1 b/3 occupied lab/j p-j-3",
		}},
		"auto, a placeholder to come": {automatic(2), []corev1.Pod{pod("", "b/1", "b")}, []string{"0 b/0 pending", "1 b/1 free"}},
		"auto, shrinking":             {claim(automatic(1), "j", "b/2"), []corev1.Pod{pod("", "b/0", "b")}, []string{"0 b/0 free", "1 b/2 retiring lab/j"}},
	} {
		t.Run(name, func(t *testing.T) {
			slots, err := view.Slots(test.bed, test.pods)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range slots {
				line := fmt.Sprintf("%d %s %s", s.Index, s.ID, s.State)
				for _, more := range []string{s.ReservedFor, s.Pod} {
					if more != "" {
						line += " " + more
					}
				}
				got = append(got, line)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("slots %q, want %q", got, test.want)
			}
		})
	}
}

// A status that no controller writes is an error that names the field.
func TestSlotsRefuses(t *testing.T) {
	twice := bed()
	twice.Status.Nodes[1].Name = "b"
	for want, b := range map[string]*v1alpha1.Testbed{
		"view: status.claims of lab/j: testbed: ID = b/x": claim(bed(), "j", "b/x"),
		"view: status.claims: testbed: Claim.Slots = b/0": claim(claim(bed(), "j", "b/0"), "k", "b/0"),
		"view: status.nodes: testbed: Node.Name = b":      twice,
	} {
		if _, err := view.Slots(b, nil); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The summary counts the slots that are shown below it, whatever the status counted.
func TestSummary(t *testing.T) {
	b := bed()
	b.Status.Counts = v1alpha1.SlotCounts{Slots: 9, Occupied: 9}
	pods := []corev1.Pod{pod("", "b/0", "b"), pod("", "a/0", "a"), pod("", "b/1", "b"), pod("", "a/1", "")}
	summary := func() string {
		slots, err := view.Slots(b, pods)
		if err != nil {
			t.Fatal(err)
		}
		if title := view.SlotTable(b, slots).Title; title == "" {
			t.Errorf("above the table is %q", title)
		}
		return view.SlotTable(b, slots).Title
	}
	if got, want := summary(), "bed: slots 4, nodes 2: 3 free, 1 pending; spazio-testbed has not looked at it yet"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.TestbedReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForCapacity}}
	if got, want := summary(), "bed: slots 4, nodes 2: 3 free, 1 pending; not ready: WaitingForCapacity"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Status.Conditions[0].Status, pods[3].Spec.NodeName = metav1.ConditionTrue, "a"
	claim(b, "j", "b/0")
	claim(b, "k", "c/0")
	if got, want := summary(), "bed: slots 5, nodes 2: 3 free, 1 reserved, 1 retiring"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
