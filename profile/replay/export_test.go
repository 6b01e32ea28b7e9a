package replay

// These are exported for tests of the package from outside.

type (
	Point = point
)

var (
	Of = of
)

var (
	ReadPrometheus = readPrometheus
)
