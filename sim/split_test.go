package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is scaled up first is absent; what drains would serve late.
func TestSplit(t *testing.T) {
	all := []*replica{{pod: 0, drained: 30}, {pod: 1, wanted: true}, {pod: 2, absent: true}, {pod: 3, drained: 9}, {pod: 4, absent: true}, {pod: 5, wanted: true, drained: 8}}
	var got [2][]int32
	wanted, others := split(all)
	for i, of := range [][]*replica{wanted, others} {
		for _, r := range of {
			got[i] = append(got[i], r.pod)
		}
	}
	if diff := cmp.Diff([2][]int32{{1, 5}, {2, 4, 0, 3}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
