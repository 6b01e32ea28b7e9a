package authority

// Exports for tests outside the package.

type (
	Leaf  = wantedLeaf
	Pair  = pair
	State = state
)

var (
	ErrContended = errContended
	Plan         = plan
)
