package fakerapl

// What tests of the package outside of it look at.

type (
	Load = load
)

const (
	Unit = unit
)
