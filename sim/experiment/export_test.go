package experiment

// Best and Digest are for tests.
var (
	Best   = best
	Digest = digest
)
