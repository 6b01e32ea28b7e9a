package sim

import "github.com/spazio-scheduler/spazio/sim/node"

// Scheduler is one of Spazio, Scalar, Default, TargetLoadPacking,
// LoadVariationRiskBalancing, LowRiskOverCommitment, LoadAware and
// Pronto.
type Scheduler interface {
	build(*cluster) (policy, error)
}

// plain is a policy that adds nothing to what every scheduler does; others embed
// it.
type plain struct{ c *cluster }

func (plain) start()                          {}
func (plain) admits(*machine, int32) bool     { return true }
func (plain) everyNode() bool                 { return false }
func (plain) bound(*machine, int32)           {}
func (plain) announced(*machine, int32)       {}
func (plain) gone(*machine, int32)            {}
func (plain) phase(*machine, node.Transition) {}
func (plain) refused()                        {}
func (plain) wakes() bool                     { return false }
func (plain) handle(event)                    {}
