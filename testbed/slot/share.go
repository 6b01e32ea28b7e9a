package slot

import (
	"cmp"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
)

// Tenant is a testbed that wants nodes which others may want as well.
type Tenant struct {
	Name    testbed.Name
	Created time.Time
	// Shared lets others put their slots on the same nodes, if they are shared too.
	Shared bool
	// Nodes are the names of the nodes that it wants; Holds those on which it has placeholders or
	// live pods, wanted or not.
	Nodes, Holds []string
}

// Share decides for all testbeds together which of the nodes that each wants it may put its
// slots on. It returns, in the order of the tenants, the nodes that each does not get, with the
// testbed that has them.
//
// A node goes to the first of the testbeds that want it or have something there still: those
// that have before the others, the older before the younger, then by name. If that one is
// shared, so do all shared ones get the node.
func Share(tenants []Tenant) []map[string]testbed.Name {
	type interest struct {
		tenant       int
		wants, holds bool
	}
	concerned := make(map[string][]interest)
	for i, t := range tenants {
		wants, holds := setOf(t.Nodes), setOf(t.Holds)
		for node := range wants {
			concerned[node] = append(concerned[node], interest{i, true, holds[node]})
		}
		for node := range holds {
			if !wants[node] {
				concerned[node] = append(concerned[node], interest{i, false, true})
			}
		}
	}
	lost := make([]map[string]testbed.Name, len(tenants))
	for node, all := range concerned {
		first := slices.MinFunc(all, func(x, y interest) int {
			a, b := &tenants[x.tenant], &tenants[y.tenant]
			return cmp.Or(before(x.holds, y.holds), a.Created.Compare(b.Created), a.Name.Compare(b.Name))
		}).tenant
		for _, x := range all {
			if i := x.tenant; x.wants && i != first && (!tenants[i].Shared || !tenants[first].Shared) {
				if lost[i] == nil {
					lost[i] = make(map[string]testbed.Name)
				}
				lost[i][node] = tenants[first].Name
			}
		}
	}
	return lost
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
