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
	// Nodes are the names of those that it wants; Holds those on which it has ghosts or
	// live pods, wanted or not.
	Nodes, Holds []string
}

// Allotment is what a tenant gets.
type Allotment struct {
	// Nodes are the names of those that may carry its slots, sorted.
	Nodes []string
	// Lost are those that others have, sorted by node.
	Lost []Conflict
}

// Conflict is a node that another testbed has.
type Conflict struct {
	Node string
	To   testbed.Name
}

// Share decides for all testbeds together which nodes each may put its slots on. A node
// goes to the first of those that want it or have something there still: those that have
// before the others, the older before the younger, then by name. If that one is shared, so
// have it all shared ones. The answers are in the order of the tenants.
func Share(tenants []Tenant) []Allotment {
	wants, holds := make([]map[string]bool, len(tenants)), make([]map[string]bool, len(tenants))
	concerned := make(map[string][]int)
	for i, t := range tenants {
		wants[i], holds[i] = setOf(t.Nodes), setOf(t.Holds)
		for node := range wants[i] {
			concerned[node] = append(concerned[node], i)
		}
		for node := range holds[i] {
			if !wants[i][node] {
				concerned[node] = append(concerned[node], i)
			}
		}
	}
	out := make([]Allotment, len(tenants))
	for node, those := range concerned {
		first := slices.MinFunc(those, func(i, j int) int {
			a, b := &tenants[i], &tenants[j]
			return cmp.Or(before(holds[i][node], holds[j][node]), a.Created.Compare(b.Created), a.Name.Compare(b.Name))
		})
		for _, i := range those {
			if !wants[i][node] {
				continue
			}
			if i == first || tenants[i].Shared && tenants[first].Shared {
				out[i].Nodes = append(out[i].Nodes, node)
			} else {
				out[i].Lost = append(out[i].Lost, Conflict{Node: node, To: tenants[first].Name})
			}
		}
	}
	for i := range out {
		slices.Sort(out[i].Nodes)
		slices.SortFunc(out[i].Lost, func(a, b Conflict) int { return cmp.Compare(a.Node, b.Node) })
	}
	return out
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
