package view

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
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
