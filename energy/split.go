package energy

import (
	"slices"
)

// IdlePolicy selects how the energy that a node takes without load is charged. The zero value
// is Unattributed.
type IdlePolicy string

const (
	// Unattributed leaves it in Rest.Idle: no pod causes it.
	Unattributed IdlePolicy = "none"
	// ByWeight divides it by Consumer.Weight, as between guests by what they rent.
	ByWeight IdlePolicy = "even"
	// ByUsage divides it by CPU time.
	ByUsage IdlePolicy = "usage"
)

// Consumer is a pod, or a guest.
type Consumer struct {
	// Key is the caller's name for it, returned in its Share; Split does not look at it.
	Key uint64
	// CPU is the CPU time it took in the interval, in core-seconds.
	CPU float64
	// Weight is its part in the idle energy ByWeight: 1 a pod, a guest's vCPUs.
	Weight float64
}

// Account is what is to be divided: an interval's energy and who took CPU time in it.
type Account struct {
	// Joules is what the node took, SD its standard deviation.
	Joules, SD float64
	// Idle is what it would have taken without load, where IdleKnown.
	Idle      float64
	IdleKnown bool
	// Busy is the CPU time that the machine took, Tree that all pods did, ended ones
	// included, and Capacity what there was: cores by seconds. All in core-seconds.
	Busy, Tree, Capacity float64
	// Weights is what the idle energy is divided by if it exceeds the sum of the
	// consumers' weights, such as a host's cores: the part that no guest rents is then
	// charged to none.
	Weights float64
	// Residual is how far the energy of load is from being proportional to CPU time,
	// relative ([Curve.Residual], [Curve.Uneven]). It does not average out.
	Residual  float64
	Consumers []Consumer
}

// Share is what a Consumer is charged.
type Share struct {
	Key uint64
	// Joules is all of it, SD its standard deviation and Idle the idle energy in it.
	Joules, SD, Idle float64
}

// Rest is what no Consumer is charged, in joules.
type Rest struct {
	// Idle is the energy without load, System that of what is no pod, and Ended that
	// of pods that are no Consumer any more.
	Idle, System, Ended float64
	// RatioSplit reports that the load's energy was taken to be the node's utilisation of all,
	// as Kepler has it, because the idle power is not known: a share of the idle power too.
	RatioSplit bool
}

// Split divides a node's energy. The zero value charges load to who caused it and
// no one for the idle power. It is a plain value.
type Split struct{ Idle IdlePolicy }

// AttributeTo divides in.Joules among the consumers, in their order, in the place of what
// dst holds, which grows as append does and is returned. Shares and Rest sum up to
// in.Joules apart from rounding, whatever the CPU times say. What is no amount, or an unknown
// policy, is a *field.Error, with dst as it was.
func (s Split) AttributeTo(dst []Share, in *Account) ([]Share, Rest, error) {
	if err := s.check(in); err != nil {
		return dst, Rest{}, err
	}
	var used, weights float64
	for i := range in.Consumers {
		used += in.Consumers[i].CPU
		weights += in.Consumers[i].Weight
	}
	idle, ratio := s.idle(in)
	dynamic := in.Joules - idle
	busy := max(in.Busy, in.Tree, used)
	a := apportion{account: in, dynamic: dynamic, busy: busy}
	switch s.Idle {
	case ByWeight:
		a.even, a.weights = idle, max(in.Weights, weights)
	case ByUsage:
		a.usage = idle
	}
	dst = slices.Grow(dst[:0], len(in.Consumers))[:len(in.Consumers)]
	rest := Rest{Idle: idle, RatioSplit: ratio}
	for i := range in.Consumers {
		dst[i] = a.share(&in.Consumers[i])
		rest.Idle -= dst[i].Idle
	}
	rest.Idle = max(rest.Idle, 0)
	rest.Ended = dynamic * share(max(in.Tree-used, 0), busy)
	rest.System = dynamic * share(max(busy-max(in.Tree, used), 0), busy)
	if busy == 0 {
		rest.System = dynamic
	}
	return dst, rest, nil
}

// idle is the energy that load has not caused, and whether it is taken by the ratio for
// want of a model.
func (s Split) idle(in *Account) (joules float64, ratio bool) {
	if in.IdleKnown {
		return min(in.Idle, in.Joules), false
	}
	return in.Joules * (1 - min(in.Busy/in.Capacity, 1)), true
}

// apportion is what is divided: dynamic and usage by CPU time, of which there was busy,
// and even by weight.
type apportion struct {
	account              *Account
	dynamic, usage, busy float64
	even, weights        float64
}

func (a *apportion) share(c *Consumer) Share {
	part := share(c.CPU, a.busy)
	idle := a.usage*part + a.even*share(c.Weight, a.weights)
	joules := a.dynamic*part + idle
	return Share{
		Key: c.Key, Joules: joules, Idle: idle,
		SD: hypotenuse(share(joules, a.account.Joules)*a.account.SD, joules*a.account.Residual),
	}
}

// share is the part that one has of all, in [0, 1]; the quotient of a whole by tiny parts
// could overflow.
func share(one, all float64) float64 {
	if all == 0 {
		return 0
	}
	return one / all
}

// Validate returns a *field.Error for an unknown policy or rule.
func (s Split) Validate() error {
	if !slices.Contains([]IdlePolicy{"", Unattributed, ByWeight, ByUsage}, s.Idle) {
		return refuse("Idle", s.Idle, "one of none, even, usage")
	}
	return nil
}

// check refuses what is not an account.
func (s Split) check(in *Account) error {
	if err := s.Validate(); err != nil {
		return err
	}
	for _, f := range [...]struct {
		name  string
		value float64
	}{
		{"Joules", in.Joules}, {"SD", in.SD}, {"Account.Idle", in.Idle}, {"Busy", in.Busy}, {"Tree", in.Tree},
		{"Capacity", in.Capacity}, {"Weights", in.Weights}, {"Residual", in.Residual},
	} {
		if err := amount(f.name, f.value, maxAmount); err != nil {
			return err
		}
	}
	if in.Capacity == 0 && !in.IdleKnown {
		return refuse("Capacity", in.Capacity, "positive where the idle power is not known")
	}
	for i := range in.Consumers {
		c := &in.Consumers[i]
		if !(c.CPU >= 0 && c.CPU <= maxAmount) {
			return refuse(element("Consumers", i, "CPU"), c.CPU, "an amount")
		}
		if !(c.Weight >= 0 && c.Weight <= maxAmount) {
			return refuse(element("Consumers", i, "Weight"), c.Weight, "an amount")
		}
	}
	return nil
}

// maxAmount bounds joules, core-seconds and weights, so that no sum of them overflows.
const maxAmount = 1e15
