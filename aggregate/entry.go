package aggregate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Entry is what an Aggregator keeps of one node, as plain data: for other
// replicas and for storage. It says how old the node's push is, not when it
// was, so that nobody's clock has to agree with another's.
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
		return &field.Error{Package: "aggregate", Field: "Node", Value: `""`, Err: ErrMissing}
	case e.Schema == "":
		return &field.Error{Package: "aggregate", Field: "Schema", Value: `""`, Err: ErrMissing}
	case e.Dim < 1 || e.Dim > maxDim:
		return &field.Error{Package: "aggregate", Field: "Dim", Value: e.Dim, Err: ErrRange}
	case e.Age < 0:
		return &field.Error{Package: "aggregate", Field: "Age", Value: e.Age, Err: ErrRange}
	case !(e.Weight >= 0 && e.Weight <= math.MaxFloat64):
		return &field.Error{Package: "aggregate", Field: "Weight", Value: e.Weight, Err: ErrRange}
	case len(e.Moments) != packedLen(e.Dim):
		return &field.Error{Package: "aggregate", Field: "len(Moments)", Value: len(e.Moments), Err: ErrLength}
	case len(e.Mean) != 0 && len(e.Mean) != e.Dim:
		return &field.Error{Package: "aggregate", Field: "len(Mean)", Value: len(e.Mean), Err: ErrLength}
	}
	if err := validateMean("Mean", e.Mean); err != nil {
		return err
	}
	limit := float64(e.Dim) * (1 + traceSlack)
	for i, v := range e.Moments {
		if !(math.Abs(v) <= limit) {
			return &field.Error{Package: "aggregate", Field: fmt.Sprintf("Moments[%d]", i), Value: v, Err: ErrRange}
		}
	}
	if t := trace(e.Moments); !(t == 0 || t >= faintest && t <= limit) {
		return &field.Error{Package: "aggregate", Field: "Moments", Value: t, Err: ErrRange}
	}
	if row := indefinite(e.Moments, e.Dim); row >= 0 {
		at := packedLen(row+1) - 1
		return &field.Error{Package: "aggregate", Field: fmt.Sprintf("Moments[%d]", at), Value: e.Moments[at], Err: ErrIndefinite}
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

// Restore takes in an entry of this aggregator's own past, aged until the given
// time. It returns false without an error for what would be forgotten at once
// or is known already, and otherwise fails as Merge does.
func (a *Aggregator) Restore(at time.Time, e Entry) (bool, error) {
	return a.merge(at, e, 0, a.options.Forget)
}

// Merge takes in an entry that the replica named from (not 0) told of at the
// given time. Of two pushes that are at most Options.Silence apart the newer by
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
	n.group.merged.enter(n)
	a.changes.note(n, len(a.nodes))
	return true, nil
}

// supersedes says whether an entry takes the place of what n holds. Replicas
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
