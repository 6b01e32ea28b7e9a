package view

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Slots returns the slots of a Testbed in their order, those that retire behind the others.
// Pods are those in its slots, placeholders among them; others do no harm. Neither is modified.
// Errors are those of [Bed.Observe] and [Bed.Slots].
func Slots(t *v1alpha1.Testbed, pods []corev1.Pod) ([]wire.Slot, error) {
	b := NewBed()
	for i := range pods {
		if pods[i].Labels[v1alpha1.LabelTestbedUID] != string(t.UID) {
			continue
		}
		if err := b.Observe(&pods[i]); err != nil {
			return nil, err
		}
	}
	b.SetTestbed(t)
	return b.Slots()
}

// summary is a line about a Testbed: which states its slots, as [Slots] returns them, are in,
// and why it is not ready.
func summary(t *v1alpha1.Testbed, slots []wire.Slot) string {
	c := wire.CountSlots(slots)
	var states []string
	for _, s := range []struct {
		n  int
		in slot.State
	}{{c.Free, slot.Free}, {c.Reserved, slot.Reserved}, {c.Occupied, slot.Occupied}, {c.Pending, slot.Pending}, {c.Retiring, slot.Retiring}} {
		if s.n > 0 {
			states = append(states, fmt.Sprintf("%d %s", s.n, s.in))
		}
	}
	text := fmt.Sprintf("%s: slots %d, nodes %d", t.Name, c.Slots, len(t.Status.Nodes))
	if len(states) > 0 {
		text += ": " + strings.Join(states, ", ")
	}
	ready := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.TestbedReady)
	switch {
	case ready == nil:
		return text + "; spazio-testbed has not looked at it yet"
	case ready.Status != metav1.ConditionTrue:
		return text + "; not ready: " + cmp.Or(ready.Message, ready.Reason)
	}
	return text
}
