package replay

// These are exported for tests of the package from outside.

type (
	Bound = bound
)
