package thesis

import (
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
)

// Switched is the thesis's switch between the two equations (§3.5): the model (eq.
// 3.13) while containers churn, the signal (eq. 3.12) otherwise. A node in constant
// churn then offers its modelled room though it is full, and pods that its usage does
// not show yet are missed in between.
const Switched pipeline.Rule = "switched"

func init() {
	pipeline.RegisterRule(Switched, func(churn bool) capacity.Mode {
		if churn {
			return capacity.ModelMode
		}
		return capacity.SignalMode
	})
}

// Avail computes avail. as the thesis does: by its switch, without caution, without a
// floor and without heed of saturation. Its eq. 3.12 does not know of pods that the
// usage lacks, so that all that run count as measured.
func Avail() pipeline.AvailConfig {
	return pipeline.AvailConfig{Rule: Switched, AvailOptions: capacity.AvailOptions{Caution: capacity.NoCaution, Saturation: capacity.NeverSaturated, FloorBelow: capacity.NoFloor}}
}
