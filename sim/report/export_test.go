package report

// These are exported for tests of the package from outside.

const (
	Across = across
)
