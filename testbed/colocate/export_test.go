package colocate

// Exports for tests outside the package.

var (
	ParseCell = parseCell
)
