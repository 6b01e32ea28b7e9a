package kalman

import "math"

// Fleet is the cost of a pod in one channel over all nodes, in the unit of the
// channel on this node. The zero value is an unknown fleet.
type Fleet struct {
	// Cost is the precision-weighted median over the nodes, SD its spread.
	Cost, SD float64
}

// Pool shrinks e towards the fleet's cost: the precision-weighted mean of the
// node's own cost and a pseudo-measurement of the fleet's with standard
// deviation spread·Cost (0 means DefaultFleetSpread), widened by the fleet's own
// spread. A node that does not know its cost takes the fleet's. The cost stays
// above floor·Cost of the fleet (0 means DefaultFloor). An unknown or unusable
// fleet leaves e as it is. Pool is pure.
func Pool(e Estimate, f Fleet, spread, floor float64) Estimate {
	if !(f.Cost > 0) || math.IsInf(f.Cost, 0) || !(f.SD >= 0) || math.IsInf(f.SD, 0) {
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
	own := e.CostSD * e.CostSD
	fleet := spread*spread*f.Cost*f.Cost + f.SD*f.SD
	if sum := own + fleet; sum > 0 {
		share := own / sum // of the fleet
		e.Cost += share * (f.Cost - e.Cost)
		e.CostSD = math.Sqrt(own * fleet / sum)
	}
	e.Cost = math.Max(e.Cost, floor*f.Cost)
	return e
}
