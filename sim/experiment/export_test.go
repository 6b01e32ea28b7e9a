package experiment

// These are for tests.
const Reference = reference

var (
	Best              = best
	DefaultSchedulers = defaultSchedulers
	Digest            = digest
	EnergyField       = energyField
	ErrFixedOption    = errFixedOption
	ErrOtherBuild     = errOtherBuild
	ErrOwn            = errOwn
	ErrPairs          = errPairs
	ErrUnknownOption  = errUnknownOption
	FleetNames        = fleetNames
	Holm              = holm
	SchedulerOf       = schedulerOf
	Set               = setOption
	SizesOf           = sizesOf
)

func (e Experiment) OneFleet() Experiment { return e.oneFleet() }
