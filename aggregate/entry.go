package aggregate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// Entry is what an Aggregator keeps of one node, as plain data: for other
// replicas and for storage. It has the age of the node's push, not its time, so
// that no clocks have to agree.
type Entry struct {
	Node                  string
	Incarnation, Sequence uint64
	Schema                string
	// Dim is d, in [1, 64].
	Dim int
	// Age since the push was received, ≥ 0.
	Age time.Duration
	// Weight is in samples, finite and ≥ 0. It is capped where it is taken in.
	Weight float64
	// Moments holds the mean squares Gᵢ: the lower triangle, row by row, of a
	// positive semidefinite matrix of trace 0 or in [1e-100, d], d(d+1)/2
	// numbers; of a centred model about the mean.
	Moments []float64
	// Mean is empty or, of a centred model, d numbers in [0,1].
	Mean []float64
	// Costs is empty or holds one entry a channel.
	Costs []Cost
}

// Size is about what an entry takes on the wire, in bytes, and no less.
func (e Entry) Size() int {
	return 80 + len(e.Node) + len(e.Schema) + 8*len(e.Moments) + 8*len(e.Mean) + 24*len(e.Costs)
}

const (
	maxDim = 64 // of svd
	// traceSlack forgives what models orthonormal to 1e-6 and full to 1e-6 may
	// exceed d by.
	traceSlack = 4e-6
	// momentTolerance is the negative energy, relative to the trace, that is
	// taken for rounding. Sums of such moments stay within what svd.FromMoments
	// accepts.
	momentTolerance = 1e-12
)

// Validate returns a *field.Error for the first field that is not as
// documented.
func (e Entry) Validate() error {
	switch {
	case e.Node == "":
		return refuse("Node", `""`, ErrMissing)
	case e.Schema == "":
		return refuse("Schema", `""`, ErrMissing)
	case e.Dim < 1 || e.Dim > maxDim:
		return refuse("Dim", e.Dim, ErrRange)
	case e.Age < 0:
		return refuse("Age", e.Age, ErrRange)
	case !(e.Weight >= 0 && e.Weight <= math.MaxFloat64):
		return refuse("Weight", e.Weight, ErrRange)
	case len(e.Moments) != packedLen(e.Dim):
		return refuse("len(Moments)", len(e.Moments), ErrLength)
	case len(e.Mean) != 0 && len(e.Mean) != e.Dim:
		return refuse("len(Mean)", len(e.Mean), ErrLength)
	}
	if err := validateMean("Mean", e.Mean); err != nil {
		return err
	}
	limit := float64(e.Dim) * (1 + traceSlack)
	for i, v := range e.Moments {
		if !(math.Abs(v) <= limit) {
			return refuse(fmt.Sprintf("Moments[%d]", i), v, ErrRange)
		}
	}
	if t := trace(e.Moments); !(t == 0 || t >= faintest && t <= limit) {
		return refuse("Moments", t, ErrRange)
	}
	if row := indefinite(e.Moments, e.Dim); row >= 0 {
		at := packedLen(row+1) - 1
		return refuse(fmt.Sprintf("Moments[%d]", at), e.Moments[at], ErrIndefinite)
	}
	return validateCosts(e.Costs, e.Dim)
}

// indefinite returns the first row at which a packed matrix, raised by the
// tolerance, has no Cholesky factor, or -1.
func indefinite(packed []float64, dim int) int {
	shift := momentTolerance * trace(packed)
	l := slices.Clone(packed)
	for i := range dim {
		row := l[packedLen(i):packedLen(i+1)]
		for j := range i {
			left := l[packedLen(j):packedLen(j+1)]
			sum := row[j]
			for k := range j {
				sum -= row[k] * left[k]
			}
			if left[j] == 0 {
				if sum != 0 {
					return i
				}
				continue
			}
			row[j] = sum / left[j]
		}
		pivot := row[i] + shift
		for k := range i {
			pivot -= row[k] * row[k]
		}
		if !(pivot >= 0) {
			return i
		}
		row[i] = math.Sqrt(pivot)
	}
	return -1
}

func (n *node) entry(at time.Time) Entry {
	split := packedLen(n.group.key.dim)
	e := Entry{
		Node: n.name, Incarnation: n.incarnation, Sequence: n.sequence,
		Schema: n.group.key.schema, Dim: n.group.key.dim,
		Age: n.age(at), Weight: n.weight,
		Moments: slices.Clone(n.moments[:split]), Costs: slices.Clone(n.costs),
	}
	if n.group.key.centred {
		e.Mean = slices.Clone(n.moments[split:])
	}
	return e
}

// Entries returns what is kept of every node, in order of their names.
func (a *Aggregator) Entries(at time.Time) []Entry {
	entries := make([]Entry, 0, len(a.nodes))
	for _, n := range a.nodes {
		entries = append(entries, n.entry(at))
	}
	slices.SortFunc(entries, func(x, y Entry) int { return cmp.Compare(x.Node, y.Node) })
	return entries
}

// Restore takes in an entry that this aggregator gave out in the past. The caller has added to
// its Age the time from then to the given time. It returns false without an error for what would
// be forgotten at once or is known already, and otherwise fails as Merge does.
func (a *Aggregator) Restore(at time.Time, e Entry) (bool, error) {
	return a.merge(at, e, 0, a.options.Forget)
}

// Merge adds an entry that was received at the given time, by this replica's clock, from the
// replica of the number from, not 0. Of two pushes at most Options.Silence apart the newer by
// (incarnation, sequence) stays, else the later. Of the same push the earlier time of receipt stays, as every replica on the way adds
// some delay; less than a thousandth of a half-life does not count, or replicas
// would tell each other of ever smaller corrections.
//
// It returns false without an error if nothing changed: the entry was not
// newer, or older than 19/20 of Options.Forget. A *field.Error is that of
// Entry.Validate; it, ErrFull and ErrCentred leave the state unchanged.
func (a *Aggregator) Merge(at time.Time, e Entry, from uint64) (bool, error) {
	return a.merge(at, e, from, a.options.fresh())
}

func (a *Aggregator) merge(at time.Time, e Entry, from uint64, oldest time.Duration) (bool, error) {
	if err := e.Validate(); err != nil {
		return false, err
	}
	if e.Age > oldest {
		return false, nil
	}
	received := at.Add(-e.Age)
	n, known := a.nodes[e.Node]
	if known && !a.supersedes(e, received, n) {
		return false, nil
	}
	caller := ""
	if known {
		caller = n.caller
	}
	n, err := a.place(e.Node, keyOf(e.Schema, e.Dim, e.Mean), caller)
	if err != nil {
		return false, err
	}
	n.incarnation, n.sequence, n.at, n.from = e.Incarnation, e.Sequence, received, from
	n.weight = a.options.weight(e.Weight)
	copy(n.moments[copy(n.moments, e.Moments):], e.Mean)
	n.costs = append(n.costs[:0], e.Costs...)
	a.changes.note(n, len(a.nodes))
	return true, nil
}

// supersedes reports whether an entry takes the place of what n holds. Replicas
// judge alike, so they agree one Silence after pushes in disorder at the latest.
func (a *Aggregator) supersedes(e Entry, received time.Time, n *node) bool {
	apart := received.Sub(n.at)
	switch {
	case n.same(e.Incarnation, e.Sequence):
		return -apart > a.options.quantum()
	case apart > a.options.Silence:
		return true
	case -apart > a.options.Silence:
		return false
	}
	return n.newer(e.Incarnation, e.Sequence)
}

// changes is the order in which nodes changed. Of a node the latest change
// counts; what is left of earlier ones is cleared out once they outnumber the
// nodes.
type changes struct {
	count uint64
	log   []change
}

type change struct {
	number uint64
	node   *node
}

// slack is how many outdated changes are not worth clearing out.
const slack = 1024

// note makes n the latest to have changed; nodes is how many there are.
func (c *changes) note(n *node, nodes int) {
	c.count++
	n.change = c.count
	if len(c.log) > 2*nodes+slack {
		latest := c.log[:0]
		for _, one := range c.log {
			if one.number == one.node.change {
				latest = append(latest, one)
			}
		}
		clear(c.log[len(latest):])
		c.log = latest
	}
	c.log = append(c.log, change{c.count, n})
}

// after returns the changes beyond a number.
func (c *changes) after(number uint64) []change {
	return c.log[sort.Search(len(c.log), func(i int) bool { return c.log[i].number > number }):]
}

// Cursor is how many changes there have been so far: where a reader of Changes
// will stand once it has read them all.
func (a *Aggregator) Cursor() uint64 { return a.changes.count }

// Changes returns what is kept of the nodes that changed after one cursor and
// up to another, each once, in the order of their latest change, and the cursor
// to go on from. What was taken over from the replica except is left out, as
// are nodes too old for another replica to take over. It ends early once the
// entries' sizes (Entry.Size) sum to limit or more, so that an answer has a
// bounded size; the cursor is then below upto.
func (a *Aggregator) Changes(at time.Time, after, upto, except uint64, limit int) ([]Entry, uint64) {
	var entries []Entry
	size := 0
	for _, c := range a.changes.after(after) {
		if c.number > upto {
			break
		}
		if size >= limit {
			return entries, after
		}
		after = c.number
		n := c.node
		if c.number != n.change || except != 0 && n.from == except || n.age(at) > a.options.fresh() {
			continue
		}
		e := n.entry(at)
		size += e.Size()
		entries = append(entries, e)
	}
	return entries, max(after, upto)
}
