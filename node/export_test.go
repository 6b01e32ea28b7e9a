package node

// What tests of the package outside of it look at.

var (
	Utilisation = utilisation
)
