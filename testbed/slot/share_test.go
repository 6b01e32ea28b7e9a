package slot_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func tenant(name string, age int, nodes ...string) slot.Tenant {
	return slot.Tenant{Name: testbed.Name{Namespace: "lab", Name: name}, Created: epoch.Add(-time.Duration(age) * time.Hour), Nodes: nodes}
}

func TestShare(t *testing.T) {
	old, young, same := tenant("old", 9, "n2", "n1"), tenant("young", 1, "n1", "n3"), tenant("same", 9, "n2", "n2")
	type lost = map[string]testbed.Name
	for name, tt := range map[string]struct {
		change func(old, young, same *slot.Tenant)
		want   []lost
	}{
		"the oldest gets it, then the first by name": {
			func(*slot.Tenant, *slot.Tenant, *slot.Tenant) {},
			[]lost{nil, {"n1": old.Name}, {"n2": old.Name}},
		},
		"a present one keeps it": {
			func(_, young, same *slot.Tenant) { young.Holds, same.Holds = []string{"n1", "n9"}, []string{"n2"} },
			[]lost{{"n1": young.Name, "n2": same.Name}, nil, nil},
		},
		"until it has left, even if unwanted": {
			func(_, young, _ *slot.Tenant) { young.Nodes, young.Holds = []string{"n3"}, []string{"n1"} },
			[]lost{{"n1": young.Name}, nil, {"n2": old.Name}},
		},
		"shared ones share": {
			func(old, young, _ *slot.Tenant) { old.Shared, young.Shared = true, true },
			[]lost{nil, nil, {"n2": old.Name}},
		},
		"and not with a present exclusive one": {
			func(old, young, _ *slot.Tenant) { old.Shared, young.Holds = true, []string{"n1"} },
			[]lost{{"n1": young.Name}, nil, {"n2": old.Name}},
		},
	} {
		a, b, c := old, young, same
		tt.change(&a, &b, &c)
		if diff := cmp.Diff(tt.want, slot.Share([]slot.Tenant{a, b, c})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := slot.Share(nil); len(got) != 0 {
		t.Error(got)
	}
}

// No node belongs to two testbeds unless both share it, nor to one while another that does not share
// has something on it; each wanted and empty node is assigned, and the order of the testbeds does not
// matter.
func TestShareProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for range 500 {
		var tenants []slot.Tenant
		for i := range 1 + rng.IntN(5) {
			x := tenant(fmt.Sprint("t", i), rng.IntN(3))
			x.Shared = rng.IntN(2) == 0
			for n := range 4 {
				if rng.IntN(2) == 0 {
					x.Nodes = append(x.Nodes, fmt.Sprint("n", n))
				}
				if rng.IntN(3) == 0 {
					x.Holds = append(x.Holds, fmt.Sprint("n", n))
				}
			}
			tenants = append(tenants, x)
		}
		got := slot.Share(tenants)
		for n := range 4 {
			node := fmt.Sprint("n", n)
			wanted, exclusive, given, held, leaving := 0, 0, 0, 0, 0
			for i, x := range tenants {
				if slices.Contains(x.Nodes, node) {
					wanted++
				}
				if slices.Contains(x.Holds, node) {
					held++
					if !slices.Contains(x.Nodes, node) {
						leaving++
					}
				}
				if _, lost := got[i][node]; !lost && slices.Contains(x.Nodes, node) {
					given++
					if !x.Shared {
						exclusive++
					}
				}
			}
			if wanted > 0 && leaving == 0 && given == 0 || exclusive > 0 && (given > 1 || held > 0 && held == leaving) {
				t.Fatalf("%s: got wanted by %d, held by %d, left by %d, assigned to %d, %d exclusive: %+v", node, wanted, held, leaving, given, exclusive, tenants)
			}
		}
		slices.Reverse(tenants)
		back := slot.Share(tenants)
		slices.Reverse(back)
		if diff := cmp.Diff(got, back); diff != "" {
			t.Fatal(diff)
		}
	}
}
