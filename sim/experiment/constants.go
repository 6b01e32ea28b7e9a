package experiment

import (
	"math"
	"strconv"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/svd"
)

// Constant is a default of the algorithm that might be another number. Its name
// is that of a setting (see Settings).
type Constant struct {
	Name string
	// Default is the value that the setting has unless it is set: a
	// time.Duration, or a number as an int or a float64.
	Default any
	// most is the largest value in the setting's range; 0 means that half as
	// much again as the default is within it.
	most float64
}

var (
	rules  = reserve.Rules{}.WithDefaults()
	fresh  = reserve.Freshness{}.WithDefaults()
	merged = aggregate.Options{}.WithDefaults()
)

// constants are all numbers that the default algorithm uses and a setting
// changes. A new default needs a line here; a test compares them with the
// settings.
var constants = []Constant{
	{"agent.pods-per-core", agent.DefaultPodsPerCore, 0},
	{"agent.memory-spread", pipeline.DefaultMemorySpread, 0},
	{"agent.fleet-share", pipeline.DefaultFleetShare, 0},
	{"agent.fleet-spread", kalman.DefaultFleetSpread, 0},
	{"agent.fleet-half-life", pipeline.DefaultFleetHalfLife, 0},
	{"agent.churn-hold", pipeline.DefaultChurnHold, 0},
	{"agent.churn-cap", pipeline.DefaultChurnCap, 0},
	{"agent.settle", agent.DefaultSettle, 0},
	{"agent.min-interval", agent.DefaultMinInterval, 0},
	{"agent.pace-half-life", pipeline.DefaultPaceHalfLife, 0},
	{"agent.allowance.most-per-slot", capacity.DefaultMostPerSlot, 0},

	{"agent.filter.n", filter.DefaultN, 0},
	{"agent.filter.norm", filter.DefaultNorm, 0},
	{"agent.filter.hold", filter.DefaultHold, 0},
	{"agent.filter.fast", filter.DefaultFast, 1},
	{"agent.filter.delta", filter.DefaultDelta, 0},
	{"agent.filter.kappa", filter.DefaultKappa, 0},

	{"agent.model.block", svd.DefaultBlock, 0},
	{"agent.model.alpha", svd.DefaultWeight, 0},

	{"agent.estimator.prior-sd", kalman.DefaultCostSD, 0},
	{"agent.estimator.spread", pipeline.DefaultSpread, 0},
	{"agent.estimator.noise", kalman.DefaultNoise, 0},
	{"agent.estimator.level-drift", kalman.DefaultLevelDrift, 0},
	{"agent.estimator.cost-drift", kalman.DefaultCostDrift, 0},
	{"agent.estimator.gate", kalman.DefaultGate, 0},
	{"agent.estimator.patience", kalman.DefaultPatience, 0},
	{"agent.estimator.saturation", kalman.DefaultSaturation, 0},
	{"agent.estimator.known", kalman.DefaultKnown, 0},
	{"agent.estimator.floor", kalman.DefaultFloor, 0},

	{"agent.signal.epsilon", capacity.DefaultEpsilon, 0},
	{"agent.signal.max", capacity.DefaultMax, 0},
	{"agent.avail.caution", capacity.DefaultCaution, 0},
	{"agent.avail.saturation", capacity.DefaultSaturation, 1},
	{"agent.avail.floor-below", capacity.DefaultFloorBelow, 0},

	{"aggregate.half-life", merged.HalfLife, 0},
	{"aggregate.forget", merged.Forget, 0},
	{"aggregate.forgetting", merged.Forgetting, 0},
	{"aggregate.block", merged.Block, 0},

	{"rules.min-free-pods", rules.MinFreePods, 0},
	{"rules.burst", rules.Burst, 0},
	{"rules.growth", rules.Growth, 0},
	{"freshness.max-age", fresh.MaxAge, 0},
	{"freshness.grace", fresh.Grace, 0},
	{"ranking.tie-tolerance", reserve.DefaultTieTolerance, 0},
	{"weight", sim.DefaultWeight, 0},
	{"push", sim.DefaultPush, 0},
}

// Constants lists the defaults of the algorithm.
func Constants() []Constant { return append([]Constant(nil), constants...) }

// ConstantByName finds a constant; the error is a *NameError.
func ConstantByName(name string) (Constant, error) {
	for _, c := range constants {
		if c.Name == name {
			return c, nil
		}
	}
	return Constant{}, &NameError{kind: "constant", name: name, known: namesOf(constants, func(c Constant) string { return c.Name })}
}

// At is the text of the setting for the default times scale, within the
// setting's range and, where it is a whole number, rounded. Empty where there is
// no setting of the constant's name.
func (c Constant) At(scale float64) string {
	var amount float64
	switch d := c.Default.(type) {
	case time.Duration:
		amount = float64(d)
	case int:
		amount = float64(d)
	case float64:
		amount = d
	}
	amount *= scale
	if c.most > 0 {
		amount = math.Min(amount, c.most)
	}
	field, ok := settings(new(sim.Spazio))[c.Name]
	if !ok {
		return ""
	}
	switch field.Interface().(type) {
	case time.Duration:
		return time.Duration(math.Round(amount)).String()
	case int:
		return strconv.Itoa(int(math.Round(amount)))
	}
	return strconv.FormatFloat(amount, 'g', 6, 64)
}
