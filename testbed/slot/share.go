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
	// live pods.
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
// goes to the first of those that want it: those that have something there before the
// others, the older before the younger, then by name. If that one is shared, so have it
// all shared ones. The answers are in the order of the tenants.
func Share(tenants []Tenant) []Allotment {
	wanting := make(map[string][]int)
	holds := make([]map[string]bool, len(tenants))
	for i, t := range tenants {
		holds[i] = make(map[string]bool, len(t.Holds))
		for _, node := range t.Holds {
			holds[i][node] = true
		}
		for _, node := range t.Nodes {
			if !slices.Contains(wanting[node], i) {
				wanting[node] = append(wanting[node], i)
			}
		}
	}
	out := make([]Allotment, len(tenants))
	for node, those := range wanting {
		first := slices.MinFunc(those, func(i, j int) int {
			a, b := &tenants[i], &tenants[j]
			return cmp.Or(before(holds[i][node], holds[j][node]), a.Created.Compare(b.Created), a.Name.Compare(b.Name))
		})
		for _, i := range those {
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
