package report

// Chart is panels one above the other. Series and marks of the same name have
// the same colour in all of them, and panels of equal X labels equal axes X; of
// neighbours with the same axis only the lower one is labelled.
type Chart struct{ Panels []Panel }

// Panel is one plot.
type Panel struct {
	Title string
	X, Y  Axis
	// Tall is twice as high, for lines that lie close together.
	Tall bool
	// Spans are shaded behind the data.
	Spans []Span
	// Series are drawn in order, the later over the earlier.
	Series []Series
	// Marks are vertical lines.
	Marks []Mark
}

// Axis is an axis. Where Max is not above Min it fits the data.
type Axis struct {
	Label    string
	Min, Max float64
	// Log makes it logarithmic; all data must be above 0 then. Whole labels
	// whole numbers alone. Names labels 0, 1, … with names; a panel with names
	// on Y is as high as they need.
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
	// Dots draws the points alone, with bars from Low to High along Y.
	Dots
	// across is Dots with the bars along X.
	across
	// Dotted joins the dots.
	Dotted
	// Faint is a thin pale Line, for raw data behind others.
	Faint
)

// Series is one entry of the legend; without a Name it is none.
type Series struct {
	Name   string
	Style  Style
	Points []Point
}

// Point is a value at X. Low and High bound Y, or X in the style Across, where
// not both are 0.
type Point struct{ X, Y, Low, High float64 }

func (p Point) bounded() bool { return p.Low != 0 || p.High != 0 }

// Mark is a vertical line, Name in the legend; without a name it is grey.
type Mark struct {
	Name string
	X    float64
}

// Span is a range of X, Name in the legend.
type Span struct {
	Name     string
	From, To float64
}
