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

// Order is one of nodes.
type Order string

// The orders: what a node reports as available, what is left of that, what is in flight
// to it and how long it has been silent, the largest first; and names.
const (
	ByAvail    Order = "avail"
	ByFree     Order = "free"
	ByInFlight Order = "inflight"
	ByAge      Order = "age"
	ByName     Order = "name"
)

// orders compare nodes; names decide where these do not.
var orders = map[Order]func(a, b plugin.NodeState) int{
	ByAvail:    func(a, b plugin.NodeState) int { return cmp.Compare(b.Avail, a.Avail) },
	"":         byFree,
	ByFree:     byFree,
	ByInFlight: func(a, b plugin.NodeState) int { return cmp.Compare(b.InFlight, a.InFlight) },
	ByAge:      func(a, b plugin.NodeState) int { return cmp.Compare(silentFor(b), silentFor(a)) },
	ByName:     func(plugin.NodeState, plugin.NodeState) int { return 0 },
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
	// Order is that of States; default ByFree.
	Order Order
	// Limit is the most nodes; 0 is no limit.
	Limit int
}

// Validate returns a *field.Error for the first field that is out of range.
func (c Choice) Validate() error {
	switch {
	case orders[c.Order] == nil:
		return &field.Error{Package: "page", Field: "Order", Value: c.Order, Err: fmt.Errorf("%w: none of %s, %s, %s, %s, %s", plugin.ErrInvalid, ByAvail, ByFree, ByInFlight, ByAge, ByName)}
	case c.Limit < 0:
		return &field.Error{Package: "page", Field: "Limit", Value: c.Limit, Err: fmt.Errorf("%w: must not be negative", plugin.ErrInvalid)}
	}
	return nil
}

// States returns the nodes chosen, in order, in a slice of its own.
func (c Choice) States(all []plugin.NodeState) ([]plugin.NodeState, error) {
	return chosen(c, all, func(n plugin.NodeState) plugin.NodeState { return n }, orders[c.Order])
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
