package source

// What tests of the package outside of it look at.

type (
	Redfish = redfish
)

var (
	ErrMalformed = errMalformed
	ErrRefused   = errRefused
	NewHwmon     = newHwmon
	NewModel     = newModel
	NewRedfish   = newRedfish
	ParseRedfish = parseRedfish
	NewShared    = newShared
)

var (
	ErrStale = errStale
)
