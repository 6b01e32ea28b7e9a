package figures

import (
	"context"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// Figure is one that can be made. It is a plain value; Make is safe for
// concurrent use.
type Figure struct {
	// ID is its number in the thesis, such as 4.6, or a name; it is part of file
	// names.
	ID string
	// title says what is drawn, Claim what is said to hold, in sentences.
	title, claim string
	// make makes it. The seed selects the random streams of what is simulated; equal seeds give an
	// equal outcome, to the last bit. The error is ctx's, or that of the data or the simulator.
	make func(ctx context.Context, seed uint64) (outcome, error)
}

// verdict is whether a claim holds.
type verdict string

// Verdicts.
const (
	holds  verdict = "holds"
	partly verdict = "holds in part"
	fails  verdict = "does not hold"
)

// outcome is a figure as made. It is a plain value, safe for concurrent reading.
type outcome struct {
	// panels stand one above the other.
	panels []report.Panel
	// verdict is on the figure's claim, Measured what speaks for it, in sentences.
	verdict  verdict
	measured string
	// source says where the data come from: the machine recorded, or the
	// simulator with its seed.
	source string
	// values are the figures behind Measured, for machines.
	values []value
}

// value is a number with its unit; 1 is that of ratios and shares.
type value struct {
	Name  string  `json:"metric"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// ByID returns the figures of the IDs, in the order of All; all without any. The
// error is a *field.Error.
func ByID(ids ...string) ([]Figure, error) {
	all := All()
	if len(ids) == 0 {
		return all, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(f Figure) bool { return f.ID == id }) {
			return nil, report.Refuse("figure", id, "an ID of All")
		}
	}
	return slices.DeleteFunc(all, func(f Figure) bool { return !slices.Contains(ids, f.ID) }), nil
}
