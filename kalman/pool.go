package kalman

import "math"

// Fleet is the cost of a pod in one channel over all nodes, in the unit of the
// channel on this node. The zero value is an unknown fleet.
type Fleet struct {
	// Cost is the precision-weighted median over the nodes, SD its spread.
	Cost, SD float64
}

// Pool shrinks e towards the fleet's cost: the precision-weighted mean of the
// node's own cost and a pseudo-measurement of the fleet's, whose standard
// deviation is spread·Cost (0 means DefaultFleetSpread) widened by the fleet's
// own spread:
//
//	w = sd(c)² / (sd(c)² + (spread·c_f)² + sd_f²),  c += w·(c_f − c),  sd(c)² *= 1 − w
//
// A node that does not know its cost takes the fleet's. The cost stays above
// floor·Cost of the fleet (0 means DefaultFloor). An unknown or unusable fleet,
// or a result that overflows, leaves e as it is. Pool is pure.
func Pool(e Estimate, f Fleet, spread, floor float64) Estimate {
	e.pool(f, spread, floor)
	return e
}

// PoolTo is Pool for every channel. It writes into dst, which it returns and
// which may be own; a nil dst is allocated. It returns a *FieldError if the
// lengths differ, and then writes nothing.
func PoolTo(dst, own []Estimate, fleet []Fleet, spread, floor float64) ([]Estimate, error) {
	if len(fleet) != len(own) {
		return dst, refuseLength("fleet", len(fleet), len(own))
	}
	if dst == nil {
		dst = make([]Estimate, len(own))
	}
	if len(dst) != len(own) {
		return dst, refuseLength("dst", len(dst), len(own))
	}
	for i := range own {
		dst[i] = own[i]
		dst[i].pool(fleet[i], spread, floor)
	}
	return dst, nil
}

func (e *Estimate) pool(f Fleet, spread, floor float64) {
	if !(f.Cost > 0 && f.Cost <= math.MaxFloat64 && f.SD >= 0 && f.SD <= math.MaxFloat64) {
		return
	}
	if spread == 0 {
		spread = DefaultFleetSpread
	}
	if floor == 0 {
		floor = DefaultFloor
	}
	if !e.Known {
		e.Cost, e.CostSD = f.Cost, f.SD
		return
	}
	cost, sd := e.Cost, e.CostSD
	if own := sd * sd; own > 0 {
		wide := spread * f.Cost
		share := own / (own + wide*wide + f.SD*f.SD) // of the fleet
		cost += share * (f.Cost - cost)
		sd *= math.Sqrt(1 - share)
	}
	cost = max(cost, floor*f.Cost)
	if cost <= math.MaxFloat64 && sd >= 0 { // not where something overflowed
		e.Cost, e.CostSD = cost, sd
	}
}
