package view

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// table is a table for people: Right marks the columns that hold numbers. A plain value.
type table struct {
	Title  string
	Header []string
	Rows   [][]string
	Right  []bool
}

// nothing stands for no pod and no job.
const nothing = "-"

// SlotTable shows a Testbed's slots, below a line that counts them. Pods and jobs of the Testbed's
// own namespace are named without it.
func SlotTable(t *v1alpha1.Testbed, slots []wire.Slot) table {
	out := table{
		Title:  summary(t, slots),
		Header: []string{"INDEX", "ID", "NODE", "STATE", "POD", "JOB"},
		Right:  []bool{true},
	}
	own := t.Namespace + "/"
	for i := range slots {
		s, pod := &slots[i], nothing
		if s.Pod != "" {
			pod = strings.TrimPrefix(s.PodNamespace+"/"+s.Pod, own)
		}
		job := cmp.Or(strings.TrimPrefix(s.ReservedFor, own), nothing)
		out.Rows = append(out.Rows, []string{strconv.Itoa(s.Index), s.ID, s.Node, s.State.String(), pod, job})
	}
	return out
}

// summary is a line about a Testbed: which states its slots, as a [Bed] has them, are in,
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
