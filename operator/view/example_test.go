package view_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/view"
)

// A Testbed of two slots on one node, as an API server has it: a job has the first slot, and
// its pod is there; the other has no placeholder yet.
func ExampleSlots() {
	testbed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "small", UID: "1"}}
	testbed.Status.Nodes = []v1alpha1.TestbedNode{{Name: "worker", Slots: 2, Wanted: 2}}
	testbed.Status.Claims = []v1alpha1.Claim{{BatchJobUID: "2", BatchJob: "lab/sort", Slots: []string{"worker/0"}}}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: "sort-r1-x7k2p", UID: "3",
			Labels: map[string]string{
				v1alpha1.LabelTestbedUID: "1", v1alpha1.LabelRole: v1alpha1.RoleSlot, v1alpha1.LabelBatchJobUID: "2",
			},
			Annotations: map[string]string{v1alpha1.AnnotationSlot: "worker/0"},
		},
		Spec: corev1.PodSpec{NodeName: "worker"},
	}
	slots, err := view.Slots(testbed, []corev1.Pod{pod})
	if err != nil {
		panic(err)
	}
	for _, row := range view.SlotTable(testbed, slots).Rows {
		fmt.Println(row)
	}
	// Output:
	// [0 worker/0 worker occupied sort-r1-x7k2p sort]
	// [1 worker/1 worker pending - -]
}
