package report

// What tests of the package outside of it look at.

const (
	Across = across
)
