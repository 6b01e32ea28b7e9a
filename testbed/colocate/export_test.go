package colocate

// What tests of the package outside of it look at.

var (
	ParseCell = parseCell
)
