package experiment

// These are for tests.
var (
	Best           = best
	Digest         = digest
	ErrFixedOption = errFixedOption
)
