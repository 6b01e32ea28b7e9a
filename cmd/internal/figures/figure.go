package figures

import (
	"context"
	"io/fs"
	"slices"
)

// Params are what a figure is made from.
type Params struct {
	// Seed selects the random streams of what is simulated.
	Seed uint64
	// Seeds is how many consecutive ones, Seed first, a comparison of schedulers
	// runs with; 0 means 5.
	Seeds int
	// Data holds the recordings by name, such as sweep.json.gz; nil means those
	// of this package.
	Data fs.FS
}

// Figure is one that can be made. It is a plain value; Make is safe for
// concurrent use.
type Figure struct {
	// ID is its number in the thesis, such as 4.6, or a name; it is part of file
	// names.
	ID string
	// Title says what is drawn, Claim what is said to hold, in sentences.
	Title, Claim string
	// Make makes it. Equal Params give an equal Result, to the last bit. The
	// error is ctx's, or that of the data or the simulator.
	Make func(ctx context.Context, p Params) (Result, error)
}

// Verdict says whether a claim holds.
type Verdict string

// Verdicts.
const (
	Holds  Verdict = "holds"
	Partly Verdict = "holds in part"
	Fails  Verdict = "does not hold"
)

// Result is a figure as made.
type Result struct {
	// Panels stand one above the other.
	Panels []Panel
	// Verdict is on the figure's claim, Measured what speaks for it, in sentences.
	Verdict  Verdict
	Measured string
	// Source says where the data come from: the machine recorded, or the
	// simulator with its seed. See Simulated.
	Source string
	// Values are the figures behind Measured, for machines.
	Values []Value
}

// Value is a number with its unit; 1 is that of ratios and shares.
type Value struct {
	Name  string  `json:"metric"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Panel is one plot. Its legend stands beside it.
type Panel struct {
	Title string
	X, Y  Axis
	// Series are drawn in order, the later over the earlier.
	Series []Series
	// Marks are moments on the axis X.
	Marks []Mark
}

// Axis is an axis. Where Max is not above Min it fits the data; panels of equal
// X labels have equal axes X.
type Axis struct {
	Label    string
	Min, Max float64
	// Log makes it logarithmic; all data must be above 0 then. Whole labels
	// whole numbers alone. Names labels 0, 1, … with names.
	Log, Whole bool
	Names      []string
}

// Style is how a series is drawn.
type Style uint8

// Styles.
const (
	// Line joins the points.
	Line Style = iota
	// Steps holds each value until the next.
	Steps
	// Dashed is a thin Line, for what is compared with.
	Dashed
	// Dots draws the points alone, with bars from Low to High if these differ.
	Dots
	// Dotted joins the dots.
	Dotted
	// Band fills from Low to High.
	Band
	// Faint is a thin pale Line, for raw data behind others.
	Faint
)

// Series is one line of the legend. Colours follow the order in a panel; series
// of the same Name have the same colour in all panels of a figure.
type Series struct {
	Name   string
	Style  Style
	Points []Point
}

// Point is a value at X; Low and High bound it where both are not 0.
type Point struct{ X, Y, Low, High float64 }

// Mark is a vertical line, Name in the legend; marks of one name share a
// colour.
type Mark struct {
	Name string
	X    float64
}

// All are the figures in order.
func All() []Figure { return slices.Concat(thesis(), findings(), validation()) }
