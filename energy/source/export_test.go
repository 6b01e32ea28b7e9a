package source

// These are exported for tests of the package from outside.

type (
	Powercap = powercap
	Redfish  = redfish
)

var (
	ErrMalformed = errMalformed
	ErrRefused   = errRefused
	ErrStill     = errStill
	NewHwmon     = newHwmon
	NewModel     = newModel
	NewPowercap  = newPowercap
	NewRedfish   = newRedfish
	ParseRedfish = parseRedfish
	NewShared    = newShared
)

var (
	ErrStale = errStale
)
