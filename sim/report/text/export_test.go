package text

// What tests of the package outside of it look at.

var (
	Whole = whole
)
