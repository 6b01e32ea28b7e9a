package cluster

// What tests of the package outside of it look at.

type (
	Bindings = bindings
)
