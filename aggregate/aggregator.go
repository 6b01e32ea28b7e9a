package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/svd"
)

// Aggregator holds the newest model of each node and what they have in common.
// It is not safe for concurrent use.
type Aggregator struct {
	options Options
	nodes   map[string]*node
	groups  map[groupKey]*group
}

// groupKey separates what must not be merged.
type groupKey struct {
	schema string
	dim    int
}

// group is the nodes of one schema and dimension.
type group struct {
	key     groupKey
	nodes   []*node // n is at n.slot
	merged  merger
	scratch []estimate
	ages    []float64
}

// node is what is kept of a node's newest push.
type node struct {
	name                  string
	incarnation, sequence uint64
	at                    time.Time
	weight                float64   // samples, capped
	moments               []float64 // mean squares, packed
	costs                 []Cost
	group                 *group
	slot                  int
}

// merger is how one group's moments are combined: the part of a policy that
// differs.
type merger interface {
	// enter takes in n's moments, which are new.
	enter(n *node)
	// leave lets go of n's moments before they change or n is forgotten.
	leave(n *node)
	// merged returns the packed mean squares of the group, which the caller
	// must not modify, and their weight in samples at the time; 0 if there is
	// nothing to tell.
	merged(at time.Time, nodes []*node) ([]float64, float64)
}

// New returns an Aggregator without nodes, or a *FieldError.
func New(o Options) (*Aggregator, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Aggregator{
		options: o.withDefaults(),
		nodes:   map[string]*node{},
		groups:  map[groupKey]*group{},
	}, nil
}

// Len counts the nodes not forgotten.
func (a *Aggregator) Len() int { return len(a.nodes) }

// Put takes in a node's model, received at the given time. It returns false
// without an error if a model as new as l, or newer, is already there. Invalid
// models are refused with the error of Local.Validate, new nodes beyond
// MaxNodes with ErrFull; the state is then unchanged. Put does not allocate
// for a node it knows.
func (a *Aggregator) Put(at time.Time, l Local) (bool, error) {
	if err := l.Validate(); err != nil {
		return false, err
	}
	key := groupKey{l.Schema, l.Model.Dim}
	n, known := a.nodes[l.Node]
	switch {
	case known && !newer(l, n):
		return false, nil
	case !known && len(a.nodes) >= a.options.MaxNodes:
		return false, fmt.Errorf("%w: %d, refusing %q", ErrFull, len(a.nodes), l.Node)
	case known && n.group.key != key:
		a.remove(n)
		known = false
	case known:
		n.group.merged.leave(n)
	}
	if !known {
		n = a.add(l.Node, key)
	}
	n.incarnation, n.sequence, n.at = l.Incarnation, l.Sequence, at
	n.weight = min(l.Model.Mass*float64(l.Model.Block), a.options.capacity())
	meanSquaresTo(n.moments, l.Model)
	n.costs = append(n.costs[:0], l.Costs...)
	n.group.merged.enter(n)
	return true, nil
}

func newer(l Local, than *node) bool {
	if l.Incarnation != than.incarnation {
		return l.Incarnation > than.incarnation
	}
	return l.Sequence > than.sequence
}

// add makes a node without moments, and its group if it is the first there.
func (a *Aggregator) add(name string, key groupKey) *node {
	g, ok := a.groups[key]
	if !ok {
		g = &group{key: key, merged: a.newMerger(key.dim)}
		a.groups[key] = g
	}
	n := &node{name: name, group: g, slot: len(g.nodes), moments: make([]float64, packedLen(key.dim))}
	g.nodes = append(g.nodes, n)
	a.nodes[name] = n
	return n
}

func (a *Aggregator) newMerger(dim int) merger {
	if a.options.Policy == Sequential {
		return &sequential{total: make([]float64, packedLen(dim))}
	}
	return &perNode{options: a.options, total: make([]float64, packedLen(dim))}
}

// remove forgets a node, and its group with the last one.
func (a *Aggregator) remove(n *node) {
	g := n.group
	g.merged.leave(n)
	last := g.nodes[len(g.nodes)-1]
	g.nodes[n.slot], last.slot = last, n.slot
	g.nodes[len(g.nodes)-1] = nil
	g.nodes = g.nodes[:len(g.nodes)-1]
	delete(a.nodes, n.name)
	if len(g.nodes) == 0 {
		delete(a.groups, g.key)
	}
}

// Globals forgets the nodes that have been silent for longer than
// Options.Forget and returns the models of the groups that have one, in order
// of schema and dimension.
func (a *Aggregator) Globals(at time.Time) ([]Global, error) {
	a.forget(at)
	var globals []Global
	for _, g := range a.sorted() {
		global, ok, err := a.global(g, at)
		if err != nil {
			return nil, fmt.Errorf("aggregate: schema %q: %w", g.key.schema, err)
		}
		if ok {
			globals = append(globals, global)
		}
	}
	return globals, nil
}

func (a *Aggregator) sorted() []*group {
	groups := make([]*group, 0, len(a.groups))
	for _, g := range a.groups {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(x, y *group) int {
		return cmp.Or(cmp.Compare(x.key.schema, y.key.schema), cmp.Compare(x.key.dim, y.key.dim))
	})
	return groups
}

// forget goes by name, as sums depend on the order in their last digits.
func (a *Aggregator) forget(at time.Time) {
	var silent []*node
	for _, n := range a.nodes {
		if at.Sub(n.at) > a.options.Forget {
			silent = append(silent, n)
		}
	}
	slices.SortFunc(silent, func(x, y *node) int { return cmp.Compare(x.name, y.name) })
	for _, n := range silent {
		a.remove(n)
	}
}

func (a *Aggregator) global(g *group, at time.Time) (Global, bool, error) {
	moments, samples := g.merged.merged(at, g.nodes)
	if !(samples > 0) {
		return Global{}, false, nil
	}
	dim, block := g.key.dim, a.options.Block
	full := make([]float64, dim*dim)
	unpackTo(full, dim, float64(block), moments)
	model, err := svd.FromMoments(dim, block, samples/float64(block), full)
	if err != nil {
		return Global{}, false, err
	}
	return Global{
		Schema: g.key.schema,
		Dim:    dim,
		Model:  model,
		Costs:  a.prior(g, at),
		Nodes:  len(g.nodes),
	}, true, nil
}
