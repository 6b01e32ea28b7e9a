package page

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
)

// ByFree is the default of [Choice].Order.
const ByFree = "free"

// sortOrder compares nodes; names decide where it does not.
type sortOrder struct {
	name    string
	compare func(a, b plugin.NodeState) int
}

var orders = []sortOrder{
	{"avail", func(a, b plugin.NodeState) int { return cmp.Compare(b.Avail, a.Avail) }},
	{ByFree, byFree},
	{"inflight", func(a, b plugin.NodeState) int { return cmp.Compare(b.InFlight, a.InFlight) }},
	{"age", func(a, b plugin.NodeState) int { return cmp.Compare(silentFor(b), silentFor(a)) }},
	{"name", func(plugin.NodeState, plugin.NodeState) int { return 0 }},
}

// Orders returns what Order of a [Choice] may be; all but name, the last, put the largest first.
func Orders() []string {
	names := make([]string, len(orders))
	for i, o := range orders {
		names[i] = o.name
	}
	return names
}

// comparison returns that of an order, nil if there is none of the name.
func comparison(name string) func(a, b plugin.NodeState) int {
	name = cmp.Or(name, ByFree)
	if i := slices.IndexFunc(orders, func(o sortOrder) bool { return o.name == name }); i >= 0 {
		return orders[i].compare
	}
	return nil
}

func byFree(a, b plugin.NodeState) int { return cmp.Compare(b.Free, a.Free) }

// silentFor is how long a node has not reported.
func silentFor(n plugin.NodeState) time.Duration {
	if isMissing(n) {
		return math.MaxInt64
	}
	return n.Age
}

// Choice selects the nodes that are shown, and their order. The zero value shows all, those
// with most room first. It is a plain value: concurrent use is safe.
type Choice struct {
	// Name, if set, matches the nodes' names.
	Name *regexp.Regexp
	// Limiting, if set, is the nodes' shortest resource, such as cpu.
	Limiting string
	// Order is that of States: avail, what a node reports as available, free (default), what is left
	// of that, inflight, what is in flight to it, and age, how long it has been silent, the largest
	// first; and name.
	Order string
	// Limit is the most nodes; 0 is no limit.
	Limit int
}

// Validate returns a *field.Error for the first field that is out of range.
func (c Choice) Validate() error {
	switch {
	case comparison(c.Order) == nil:
		return &field.Error{Package: "page", Field: "Order", Value: c.Order, Err: fmt.Errorf("%w: none of %s", plugin.ErrInvalid, strings.Join(Orders(), ", "))}
	case c.Limit < 0:
		return &field.Error{Package: "page", Field: "Limit", Value: c.Limit, Err: fmt.Errorf("%w: must not be negative", plugin.ErrInvalid)}
	}
	return nil
}

// States returns the nodes chosen, in order, in a slice of its own.
func (c Choice) States(all []plugin.NodeState) ([]plugin.NodeState, error) {
	return chosen(c, all, func(n plugin.NodeState) plugin.NodeState { return n }, comparison(c.Order))
}

// Verdicts returns the nodes chosen, in a slice of its own: those that admit the pod
// first, best first, whatever the Order.
func (c Choice) Verdicts(all []plugin.NodeVerdict) ([]plugin.NodeVerdict, error) {
	score := func(n plugin.NodeVerdict) int64 {
		if n.Score == nil {
			return -1
		}
		return *n.Score
	}
	return chosen(c, all, func(n plugin.NodeVerdict) plugin.NodeState { return n.NodeState }, func(a, b plugin.NodeVerdict) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), byFree(a.NodeState, b.NodeState))
	})
}

func chosen[T any](c Choice, all []T, state func(T) plugin.NodeState, order func(a, b T) int) ([]T, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	nodes := slices.DeleteFunc(slices.Clone(all), func(of T) bool {
		n := state(of)
		return c.Name != nil && !c.Name.MatchString(n.Node) || c.Limiting != "" && n.Limiting != c.Limiting
	})
	slices.SortFunc(nodes, func(a, b T) int { return cmp.Or(order(a, b), strings.Compare(state(a).Node, state(b).Node)) })
	if c.Limit > 0 && len(nodes) > c.Limit {
		nodes = nodes[:c.Limit]
	}
	return nodes, nil
}
