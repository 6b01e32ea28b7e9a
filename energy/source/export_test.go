package source

// These are exported for tests of the package from outside.

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
