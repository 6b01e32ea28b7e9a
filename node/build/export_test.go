package build

// What tests of the package outside of it look at.

var (
	Describe = describe
)
