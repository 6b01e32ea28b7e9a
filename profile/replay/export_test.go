package replay

// What tests of the package outside of it look at.

type (
	Point = point
)

var (
	Of = of
)

var (
	ReadPrometheus = readPrometheus
)
