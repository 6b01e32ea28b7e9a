package cluster

// Exports for tests outside the package.

type (
	Bindings = bindings
)
