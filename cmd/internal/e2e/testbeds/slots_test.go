package testbeds

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// restrict makes the rig's namespace admit only restricted pods.
func (r *rig) restrict() {
	r.Helper()
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := r.plain.CoreV1().Namespaces().Patch(r.Context(), r.namespace, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		r.Fatal(err)
	}
}

// waitOrder waits until the Testbed's nodes are these of the rig's, from 1, in this order.
func (r *rig) waitOrder(testbed string, nodes ...int) {
	r.Helper()
	var want []string
	for _, n := range nodes {
		want = append(want, r.nodes[n-1])
	}
	r.eventually("nodes are in order", func() (bool, any) {
		var got []string
		for _, n := range r.getTestbed(testbed).Status.Nodes {
			got = append(got, n.Name)
		}
		return slices.Equal(got, want), got
	})
}

// A Testbed gets its slots in the order of its nodes' labels, numbers first, each with a placeholder
// that passes the strictest pod security standard; the slots of a removed node are removed, and so are
// a deleted Testbed's.
func TestSlotsAppear(t *testing.T) {
	r := newRig(t, 0)
	r.restrict()
	r.joinAs("10", "2", "text")
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2)
	r.waitCounts("bed", 6, 0, 0)
	r.waitOrder("bed", 2, 1, 3)
	r.waitStanding(v1alpha1.RolePlaceholder, r.slot(1, 0), r.slot(1, 1), r.slot(2, 0), r.slot(2, 1), r.slot(3, 0), r.slot(3, 1))
	r.removeNode(r.nodes[0])
	r.waitCounts("bed", 4, 0, 0)
	r.waitOrder("bed", 2, 3)
	r.waitStanding(v1alpha1.RolePlaceholder, r.slot(2, 0), r.slot(2, 1), r.slot(3, 0), r.slot(3, 1))
	r.finish()
}
