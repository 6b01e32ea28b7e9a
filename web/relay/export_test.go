package relay

// What tests of the package outside of it look at.

var (
	ErrNoPage = errNoPage
)
