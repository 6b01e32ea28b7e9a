package slot

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/testbed"
)

// Node is a node that carries a testbed's label.
type Node struct {
	Name string
	// Label is the value of the testbed's label on it.
	Label string
	// Positions are those of the slots that it should have: First of a fixed number,
	// or what Auto says.
	Positions Positions
}

// Order is the order of a testbed's slots:
//
//	node before node  by label value: integers numerically, then text, then by name; the rank is its ID
//	index of a slot   its rank by (position, node's ID)
//
// It does not change once made and is safe for concurrent use.
type Order struct {
	nodes              []Node
	slots              []ID
	ids                map[string]int
	index              map[ID]int
	cutNodes, cutSlots int
}

// NewOrder orders the slots of the nodes. Beyond MaxNodes nodes, and beyond most slots
// (0 is MaxSlots), they are cut off in order; see Cut.
func NewOrder(nodes []Node, most int) (*Order, error) {
	if most < 0 || most > MaxSlots {
		return nil, testbed.Refuse("most", most, fmt.Sprintf("in 0..%d", MaxSlots))
	}
	if most == 0 {
		most = MaxSlots
	}
	o := &Order{nodes: slices.Clone(nodes), ids: make(map[string]int, len(nodes))}
	slices.SortFunc(o.nodes, compareNodes)
	if err := o.cutTo(most); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *Order) cutTo(most int) error {
	for i, n := range o.nodes {
		if n.Name == "" || len(n.Name) > maxNodeName || strings.Contains(n.Name, "/") {
			return testbed.Refuse("Node.Name", n.Name, "a node's name")
		}
		if _, twice := o.ids[n.Name]; twice {
			return testbed.Refuse("Node.Name", n.Name, "there once")
		}
		o.ids[n.Name] = i
	}
	all := 0
	for i := range o.nodes {
		all += o.nodes[i].Positions.Len()
		if i >= MaxNodes {
			o.cutNodes++
			delete(o.ids, o.nodes[i].Name)
		}
	}
	o.nodes = o.nodes[:len(o.nodes)-o.cutNodes]
	end := 0
	for i := range o.nodes {
		for position := range o.nodes[i].Positions.All() {
			end = max(end, position+1)
		}
	}
	o.slots = make([]ID, 0, min(all, most))
	o.index = make(map[ID]int, min(all, most))
	for position := range end {
		for i := range o.nodes {
			n := &o.nodes[i]
			switch {
			case !n.Positions.has(position):
			case len(o.slots) == most:
				n.Positions = n.Positions.without(position)
			default:
				id := ID{Node: n.Name, Position: position}
				o.index[id] = len(o.slots)
				o.slots = append(o.slots, id)
			}
		}
	}
	o.cutSlots = all - len(o.slots)
	return nil
}

// compareNodes is the order of nodes.
func compareNodes(a, b Node) int {
	return cmp.Or(compareLabels(a.Label, b.Label), strings.Compare(a.Name, b.Name))
}

func compareLabels(a, b string) int {
	m, n := isInteger(a), isInteger(b)
	switch {
	case m && n:
		// Of any length: a label's value may have 63 digits.
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	case m:
		return -1
	case n:
		return 1
	}
	return strings.Compare(a, b)
}

func isInteger(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// Nodes returns the nodes by their IDs, each with the slots that were not cut off.
func (o *Order) Nodes() []Node { return slices.Clone(o.nodes) }

// Slots returns the slots by their index.
func (o *Order) Slots() []ID { return slices.Clone(o.slots) }

// Len returns how many slots there are.
func (o *Order) Len() int { return len(o.slots) }

// nodeID returns the rank of the node, and whether it is among the testbed's.
func (o *Order) nodeID(name string) (int, bool) {
	i, ok := o.ids[name]
	return i, ok
}

// Index returns the rank of the slot, and whether it is among the testbed's.
func (o *Order) Index(id ID) (int, bool) {
	i, ok := o.index[id]
	return i, ok
}

// Cut returns how many nodes and slots are beyond the limits.
func (o *Order) Cut() (nodes, slots int) { return o.cutNodes, o.cutSlots }

// Positions is a set of positions on a node, 0 to MaxPerNode−1. The zero value is
// empty. It is a value: methods return another, and == compares.
type Positions struct {
	words [2]uint64
}

// First returns the positions 0 to n−1. n is held to 0 and MaxPerNode.
func First(n int) Positions {
	var p Positions
	for i := range min(n, MaxPerNode) {
		p = p.With(i)
	}
	return p
}

// Len returns how many there are.
func (p Positions) Len() int { return bits.OnesCount64(p.words[0]) + bits.OnesCount64(p.words[1]) }

// has reports whether position i is in the set.
func (p Positions) has(i int) bool {
	return i >= 0 && i < MaxPerNode && p.words[i/64]&(1<<(i%64)) != 0
}

// With returns the set with position i. What is no position is left out.
func (p Positions) With(i int) Positions {
	if i >= 0 && i < MaxPerNode {
		p.words[i/64] |= 1 << (i % 64)
	}
	return p
}

// without returns the set without position i.
func (p Positions) without(i int) Positions {
	if i >= 0 && i < MaxPerNode {
		p.words[i/64] &^= 1 << (i % 64)
	}
	return p
}

// All yields the positions, ascending.
func (p Positions) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, word := range p.words {
			for ; word != 0; word &= word - 1 {
				if !yield(64*w + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
