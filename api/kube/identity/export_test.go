package identity

// What tests of the package outside of it look at.

type Claims = tokenClaims

var (
	ParseClaims = parseClaims
)
