package slot_test

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func newOrder(t testing.TB, nodes []slot.Node, most int) *slot.Order {
	t.Helper()
	o, err := slot.NewOrder(nodes, most)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func texts(ids []slot.ID) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out
}

func TestOrder(t *testing.T) {
	two := slot.First(2)
	for name, tt := range map[string]struct {
		nodes []slot.Node
		want  []string
	}{
		"integers numerically": {
			[]slot.Node{{"a", "10", two}, {"b", "9", two}, {"c", "1", two}},
			[]string{"c/0", "b/0", "a/0", "c/1", "b/1", "a/1"},
		},
		"then text, then names": {
			[]slot.Node{{"d", "x", slot.First(1)}, {"c", "x", slot.First(1)}, {"b", "", slot.First(1)}, {"a", "77", slot.First(1)}, {"e", "07x", slot.First(1)}},
			[]string{"a/0", "b/0", "e/0", "c/0", "d/0"},
		},
		"integers of any length, with zeros": {
			[]slot.Node{{"a", "100000000000000000000000000000000000000000000000000000000000000", slot.First(1)}, {"c", "7", slot.First(1)}, {"b", "007", slot.First(1)}},
			[]string{"b/0", "c/0", "a/0"},
		},
		"positions that lack": {
			[]slot.Node{{"a", "1", slot.First(3).Without(1)}, {"b", "2", two}},
			[]string{"a/0", "b/0", "b/1", "a/2"},
		},
		"none": {nil, nil},
	} {
		o := newOrder(t, tt.nodes, 0)
		if diff := gocmp.Diff(tt.want, texts(o.Slots())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for i, id := range o.Slots() {
			if index, ok := o.Index(id); !ok || index != i {
				t.Errorf("%s: index of %v: got %d, %v", name, id, index, ok)
			}
		}
	}
}

// Entries i and i+nodes of a queue share a node if all nodes have equally many slots.
func TestOrderSharesNodes(t *testing.T) {
	var nodes []slot.Node
	for i := range 7 {
		nodes = append(nodes, slot.Node{Name: fmt.Sprint("n", i), Label: fmt.Sprint(i * 3), Positions: slot.First(4)})
	}
	slots := newOrder(t, nodes, 0).Slots()
	for i := range slots[7:] {
		if slots[i].Node != slots[i+7].Node || slots[i].Position+1 != slots[i+7].Position {
			t.Errorf("%v and %v", slots[i], slots[i+7])
		}
	}
}

// naiveOrder sorts all slots by the definition of the order, integers as such.
func naiveOrder(nodes []slot.Node) []slot.ID {
	integer := func(label string) *big.Int {
		for _, r := range label {
			if r < '0' || r > '9' {
				return nil
			}
		}
		n, ok := new(big.Int).SetString(label, 10)
		if !ok {
			return nil
		}
		return n
	}
	less := func(a, b slot.Node) int {
		m, n := integer(a.Label), integer(b.Label)
		switch {
		case m != nil && n != nil && m.Cmp(n) != 0:
			return m.Cmp(n)
		case m != nil && n == nil:
			return -1
		case m == nil && n != nil:
			return 1
		case m == nil && a.Label != b.Label:
			return cmp.Compare(a.Label, b.Label)
		}
		return cmp.Compare(a.Name, b.Name)
	}
	type ranked struct {
		slot.ID
		node int
	}
	var all []ranked
	for _, n := range nodes {
		rank := 0
		for _, m := range nodes {
			if less(m, n) < 0 {
				rank++
			}
		}
		for p := range slot.MaxPerNode {
			if n.Positions.Has(p) {
				all = append(all, ranked{slot.ID{Node: n.Name, Position: p}, rank})
			}
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.node, b.node))
	})
	var ids []slot.ID
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestOrderEqualsSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	labels := []string{"", "0", "1", "01", "9", "10", "11", "a", "b", "a1", "1a", "99999999999999999999", "Z"}
	for range 300 {
		var nodes []slot.Node
		for i := range rng.IntN(12) {
			p := slot.First(rng.IntN(5))
			if rng.IntN(3) == 0 {
				p = p.With(rng.IntN(slot.MaxPerNode)).Without(0)
			}
			nodes = append(nodes, slot.Node{Name: fmt.Sprint("n", 11-i), Label: labels[rng.IntN(len(labels))], Positions: p})
		}
		given := slices.Clone(nodes)
		want := naiveOrder(nodes)
		most := 1 + rng.IntN(30)
		o := newOrder(t, nodes, most)
		if got := o.Slots(); !slices.Equal(got, want[:min(most, len(want))]) {
			t.Fatalf("%v:\n got %v\nwant %v", nodes, got, want)
		}
		if _, cut := o.Cut(); cut != max(0, len(want)-most) {
			t.Errorf("cut %d of %d at %d", cut, len(want), most)
		}
		left := 0
		for i, n := range o.Nodes() {
			left += n.Positions.Len()
			if id, ok := o.NodeID(n.Name); !ok || id != i {
				t.Errorf("node %q is %d, %v, not %d", n.Name, id, ok, i)
			}
		}
		if left != o.Len() {
			t.Errorf("got %d remaining slots of nodes, want %d", left, o.Len())
		}
		if !slices.Equal(nodes, given) {
			t.Fatal("the nodes were modified")
		}
	}
}

func TestOrderCutsNodes(t *testing.T) {
	var nodes []slot.Node
	for i := range slot.MaxNodes + 3 {
		nodes = append(nodes, slot.Node{Name: fmt.Sprint(i), Label: fmt.Sprint(i), Positions: slot.First(1)})
	}
	o := newOrder(t, nodes, 0)
	n, s := o.Cut()
	if n != 3 || s != 3 || o.Len() != slot.MaxNodes || len(o.Nodes()) != slot.MaxNodes {
		t.Errorf("cut %d nodes, %d slots; left %d nodes, %d slots", n, s, len(o.Nodes()), o.Len())
	}
	if _, ok := o.NodeID(fmt.Sprint(slot.MaxNodes)); ok {
		t.Error("got an ID of a node that was cut off")
	}
}

func TestOrderRefuses(t *testing.T) {
	for _, most := range []int{-1, slot.MaxSlots + 1} {
		_, err := slot.NewOrder(nil, most)
		refused(t, err, "most")
	}
	if _, err := slot.NewOrder([]slot.Node{{Name: strings.Repeat("n", 253)}}, slot.MaxSlots); err != nil {
		t.Error(err)
	}
	for _, nodes := range [][]slot.Node{{{Name: strings.Repeat("n", 254)}}, {{Name: ""}}, {{Name: "a/b"}}, {{Name: "a", Label: "1"}, {Name: "b"}, {Name: "a"}}} {
		_, err := slot.NewOrder(nodes, 0)
		refused(t, err, "Node.Name")
	}
}

func TestPositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var p slot.Positions
	set := make(map[int]bool)
	for range 2000 {
		i := rng.IntN(slot.MaxPerNode+20) - 10
		if rng.IntN(2) == 0 {
			p = p.With(i)
			if i >= 0 && i < slot.MaxPerNode {
				set[i] = true
			}
		} else {
			p = p.Without(i)
			delete(set, i)
		}
		var want []int
		for j := range slot.MaxPerNode {
			if set[j] {
				want = append(want, j)
			}
			if p.Has(j) != set[j] {
				t.Fatalf("Has(%d) = %v", j, p.Has(j))
			}
		}
		if got := slices.Collect(p.All()); !slices.Equal(got, want) || p.Len() != len(want) || p.Has(-1) || p.Has(slot.MaxPerNode) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	for range p.All() {
		break
	}
	if slot.First(-3).Len() != 0 || slot.First(1000).Len() != slot.MaxPerNode || slot.First(70) == slot.First(71) {
		t.Error("First is not limited to the existing positions")
	}
}
