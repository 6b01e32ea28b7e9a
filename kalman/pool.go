package kalman

import "math"

// Fleet is the cost of a pod in one channel over all nodes, as a share of this node's channel:
// a cost in cores or bytes is first divided by what this node has. The zero value is an unknown
// fleet.
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
// A node that does not know its cost takes the fleet's, and its Known stays false. The cost stays
// at or above floor·Cost of the fleet (0 means DefaultFloor). An unknown fleet, a negative, infinite
// or NaN number in it, or a result that overflows, leaves e as it is. Pool is pure.
func Pool(e Estimate, f Fleet, spread, floor float64) Estimate {
	if !(f.Cost > 0 && f.Cost <= math.MaxFloat64 && f.SD >= 0 && f.SD <= math.MaxFloat64) {
		return e
	}
	if spread == 0 {
		spread = DefaultFleetSpread
	}
	if floor == 0 {
		floor = DefaultFloor
	}
	if !e.Known {
		e.Cost, e.CostSD = f.Cost, f.SD
		return e
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
	return e
}
