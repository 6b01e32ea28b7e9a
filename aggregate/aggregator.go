package aggregate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
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
	callers map[string]*holding
	total   holding
	changes changes
}

// groupKey separates what must not be merged. Of a schema and dimension there is a
// group of centred models or one of others, not both.
type groupKey struct {
	schema  string
	dim     int
	centred bool
}

// keyOf is that of a model, or an entry, with the mean.
func keyOf(schema string, dim int, mean []float64) groupKey {
	return groupKey{schema, dim, len(mean) > 0}
}

// vector is the length of a node's moments, with the mean if it is centred.
func (k groupKey) vector() int {
	n := packedLen(k.dim)
	if k.centred {
		n += k.dim
	}
	return n
}

// group is the nodes of one schema and dimension.
type group struct {
	key    groupKey
	caller string  // who made it
	nodes  []*node // n is at n.slot
	merger merger
	// Scratch of the cost prior.
	known  []estimate
	sample []weighted
	fades  []float64
}

// node is what is kept of a node's newest push.
type node struct {
	name                  string
	incarnation, sequence uint64
	at                    time.Time
	weight                float64 // samples, capped
	// moments are the mean squares, packed; of a centred model about the mean, which
	// follows them.
	moments []float64
	costs   []Cost
	group   *group
	slot    int
	caller  string
	change  uint64 // the latest, counted by the Aggregator
	from    uint64 // the replica it came from, 0 for the node itself
}

// common is what the nodes of a group have in common.
type common struct {
	moments []float64 // as a node's, which the caller must not modify
	samples float64   // their weight; 0 if there is nothing to publish
}

// New returns an Aggregator without nodes, or a *field.Error.
func New(o Options) (*Aggregator, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Aggregator{
		options: o.WithDefaults(),
		nodes:   map[string]*node{},
		groups:  map[groupKey]*group{},
		callers: map[string]*holding{},
	}, nil
}

// Len returns the number of nodes that are held. A silent node counts until Globals forgets it.
func (a *Aggregator) Len() int { return len(a.nodes) }

// Put adds a node's model, received at the given time. It returns false
// without an error if l is held already, or is older than what was received
// less than Options.Silence ago. Invalid models are refused with the error of
// Local.Validate, what is beyond the bounds with a *field.Error of ErrFull, and a
// centred model among others, or another among centred ones, with one of ErrCentred;
// the state is then unchanged. Put does not allocate for a node it knows.
func (a *Aggregator) Put(at time.Time, l Local) (bool, error) {
	if err := l.Validate(); err != nil {
		return false, err
	}
	if n, known := a.nodes[l.Node]; known && !n.newer(l.Incarnation, l.Sequence) {
		if n.same(l.Incarnation, l.Sequence) || at.Sub(n.at) <= a.options.Silence {
			return false, nil
		}
	}
	n, err := a.place(l.Node, keyOf(l.Schema, l.Model.Dim, l.Model.Mean), l.Caller)
	if err != nil {
		return false, err
	}
	n.incarnation, n.sequence, n.at, n.from = l.Incarnation, l.Sequence, at, 0
	n.weight = a.options.weight(l.Model.Mass * float64(l.Model.Block))
	meanSquaresTo(n.moments[:packedLen(l.Model.Dim)], l.Model)
	copy(n.moments[packedLen(l.Model.Dim):], l.Model.Mean)
	n.costs = append(n.costs[:0], l.Costs...)
	a.changes.note(n, len(a.nodes))
	return true, nil
}

// same reports whether n holds this very push.
func (n *node) same(incarnation, sequence uint64) bool {
	return incarnation == n.incarnation && sequence == n.sequence
}

// newer reports whether a push is of a later incarnation or sequence than n's.
func (n *node) newer(incarnation, sequence uint64) bool {
	if incarnation != n.incarnation {
		return incarnation > n.incarnation
	}
	return sequence > n.sequence
}

// place returns the node, new or known, in the group of the key and held by the
// caller; what is to be put there has been checked.
func (a *Aggregator) place(name string, key groupKey, caller string) (*node, error) {
	n := a.nodes[name]
	if n != nil && n.group.key == key && n.caller == caller {
		return n, nil
	}
	if err := a.mixes(n, key); err != nil {
		return nil, err
	}
	if err := a.fits(name, n, key, caller); err != nil {
		return nil, err
	}
	if n != nil {
		a.remove(n)
	}
	return a.add(name, key, caller), nil
}

// mixes refuses what would have both centred and other models under a schema. A node
// that is alone there may change.
func (a *Aggregator) mixes(n *node, key groupKey) error {
	other := key
	other.centred = !key.centred
	g, ok := a.groups[other]
	if !ok || n != nil && n.group == g && len(g.nodes) == 1 {
		return nil
	}
	return refuse("Model.Mean", key.centred, fmt.Errorf("%w: schema %q", ErrCentred, key.schema))
}

// add makes a node without moments, and its group if it is the first there.
func (a *Aggregator) add(name string, key groupKey, caller string) *node {
	g, ok := a.groups[key]
	if !ok {
		g = &group{key: key, caller: caller, merger: merger{options: a.options, key: key}}
		a.groups[key] = g
		a.hold(caller, holding{groups: 1})
	}
	n := &node{name: name, caller: caller, group: g, slot: len(g.nodes), moments: make([]float64, key.vector())}
	g.nodes = append(g.nodes, n)
	a.nodes[name] = n
	a.hold(caller, holding{nodes: 1, bytes: footprint(name, key)})
	return n
}

// remove forgets a node, and its group with the last one.
func (a *Aggregator) remove(n *node) {
	g := n.group
	last := g.nodes[len(g.nodes)-1]
	g.nodes[n.slot], last.slot = last, n.slot
	g.nodes[len(g.nodes)-1] = nil
	g.nodes = g.nodes[:len(g.nodes)-1]
	delete(a.nodes, n.name)
	n.change = 0
	a.release(n.caller, holding{nodes: 1, bytes: footprint(n.name, g.key)})
	if len(g.nodes) == 0 {
		delete(a.groups, g.key)
		a.release(g.caller, holding{groups: 1})
	}
}

// Globals forgets the nodes that have been silent for longer than
// Options.Forget and returns the models of the groups that have one, in order
// of schema and dimension. An error is that of the groups whose moments could
// not be decomposed; the others are returned all the same.
func (a *Aggregator) Globals(at time.Time) ([]Global, error) {
	a.forget(at)
	var globals []Global
	var errs []error
	for _, g := range a.sorted() {
		global, ok, err := a.global(g, at)
		if err != nil {
			errs = append(errs, fmt.Errorf("aggregate: schema %q: %w", g.key.schema, err))
		}
		if ok {
			globals = append(globals, global)
		}
	}
	return globals, errors.Join(errs...)
}

func (a *Aggregator) sorted() []*group {
	return slices.SortedFunc(maps.Values(a.groups), func(x, y *group) int {
		return cmp.Or(cmp.Compare(x.key.schema, y.key.schema), cmp.Compare(x.key.dim, y.key.dim))
	})
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
	c := g.merger.merged(at, g.nodes)
	if !(c.samples > 0) {
		return Global{}, false, nil
	}
	dim, block := g.key.dim, a.options.Block
	full := make([]float64, dim*dim)
	unpackTo(full, dim, float64(block), c.moments[:packedLen(dim)])
	model, err := svd.FromMoments(dim, block, c.samples/float64(block), full)
	if err == nil && g.key.centred {
		state := model.State()
		state.Mean = c.moments[packedLen(dim):]
		model, err = svd.FromState(state)
	}
	if err != nil {
		return Global{}, false, err
	}
	return Global{
		Schema: g.key.schema,
		Dim:    dim,
		Model:  model,
		Costs:  a.prior(g, at),
		Nodes:  len(g.nodes),
		Ages:   g.ages(at),
	}, true, nil
}

// ages are at least 0 and so unchanged by a clock that went back.
func (g *group) ages(at time.Time) Ages {
	g.sample = g.sample[:0]
	ages := Ages{Min: math.MaxInt64}
	for _, n := range g.nodes {
		age := n.age(at)
		ages.Min, ages.Max = min(ages.Min, age), max(ages.Max, age)
		g.sample = append(g.sample, weighted{float64(age), 1})
	}
	ages.Median = time.Duration(median(g.sample))
	return ages
}

func (n *node) age(at time.Time) time.Duration { return max(0, at.Sub(n.at)) }

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

// fits reports whether a node, nil if it is new, may be put into the group of the
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
		return refuse(b.which, b.most, err)
	}
	return nil
}
