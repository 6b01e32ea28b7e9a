package api

// What tests of the package outside of it look at.

var (
	FromModel = fromModel
	ToModel   = toModel
)
