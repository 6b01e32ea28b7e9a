package aggregate

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// holding is what nodes take: of a caller, or of all.
type holding struct{ nodes, groups, bytes int }

func (h holding) plus(other holding, sign int) holding {
	return holding{h.nodes + sign*other.nodes, h.groups + sign*other.groups, h.bytes + sign*other.bytes}
}

// footprint is about what a node takes in memory: its moments, its costs, its
// name in the map, its place in the group and what is left of its changes.
func footprint(name string, key groupKey) int {
	return 360 + len(name) + 8*key.vector() + 24*key.dim
}

func (a *Aggregator) hold(caller string, more holding) {
	a.total = a.total.plus(more, 1)
	if caller == "" {
		return
	}
	h, ok := a.callers[caller]
	if !ok {
		h = &holding{}
		a.callers[caller] = h
	}
	*h = h.plus(more, 1)
}

func (a *Aggregator) release(caller string, less holding) {
	a.total = a.total.plus(less, -1)
	h, ok := a.callers[caller]
	if !ok {
		return
	}
	if *h = h.plus(less, -1); *h == (holding{}) {
		delete(a.callers, caller)
	}
}

// fits says whether a node, nil if it is new, may be put into the group of the
// key by a caller.
func (a *Aggregator) fits(name string, n *node, key groupKey, caller string) error {
	more := holding{nodes: 1, bytes: footprint(name, key)}
	if _, ok := a.groups[key]; !ok {
		more.groups = 1
	}
	after, of := a.total.plus(more, 1), holding{}
	if h, ok := a.callers[caller]; ok {
		of = *h
	}
	of = of.plus(more, 1)
	if n != nil { // what it leaves behind
		less := holding{nodes: 1, bytes: footprint(name, n.group.key)}
		last := holding{}
		if len(n.group.nodes) == 1 {
			last.groups = 1
		}
		after = after.plus(less, -1).plus(last, -1)
		if n.caller == caller {
			of = of.plus(less, -1)
		}
		if n.group.caller == caller {
			of = of.plus(last, -1)
		}
		if n.group.key == key && last.groups == 1 {
			// The group goes and comes again, as the caller's.
			after, of = after.plus(last, 1), of.plus(last, 1)
		}
	}
	most := holding{a.options.MaxNodes, a.options.MaxGroups, a.options.MaxBytes}
	if err := within(after, most, "", name, key); err != nil || caller == "" {
		return err
	}
	share := func(n int) int { return max(1, int(a.options.CallerShare*float64(n))) }
	return within(of, holding{share(most.nodes), share(most.groups), share(most.bytes)}, caller, name, key)
}

// within returns a *field.Error of the first bound that is exceeded.
func within(h, most holding, caller, name string, key groupKey) error {
	for _, b := range []struct {
		which   string
		h, most int
	}{{"MaxNodes", h.nodes, most.nodes}, {"MaxGroups", h.groups, most.groups}, {"MaxBytes", h.bytes, most.bytes}} {
		if b.h <= b.most {
			continue
		}
		err := fmt.Errorf("%w: refusing node %q with schema %q of %d channels", ErrFull, name, key.schema, key.dim)
		if caller != "" {
			err = fmt.Errorf("%w: its share for caller %q", err, caller)
		}
		return &field.Error{Package: "aggregate", Field: b.which, Value: b.most, Err: err}
	}
	return nil
}
