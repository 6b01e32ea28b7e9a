package text

// These are exported for tests of the package from outside.
var (
	Whole = whole
	Cut   = cut
	Pad   = pad
)
