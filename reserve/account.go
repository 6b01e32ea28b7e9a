package reserve

import (
	"math"
	"sync/atomic"
)

// demandUnit: sums of demand are kept in whole millionths of a pod, so that
// adding and subtracting any sequence of demands ends at exactly 0.
const demandUnit = 1e6

// Account is one node's side of a Ledger. Its methods read atomics: they take
// no lock and allocate nothing. Safe for concurrent use.
type Account struct {
	node     string
	inflight atomic.Int64 // millionths of a pod
	pods     atomic.Int64
	tracked  int // entries that point here; guarded by Ledger.mu
}

// InFlight returns the summed demand of the node's pods in flight, in pods.
func (a *Account) InFlight() float64 { return float64(a.inflight.Load()) / demandUnit }

// Pods returns the number of the node's pods in flight.
func (a *Account) Pods() int { return int(a.pods.Load()) }

// toUnits converts a demand; the error is a *FieldError.
func toUnits(demand float64) (int64, error) {
	if !(demand > 0 && demand <= 1e6) {
		return 0, &FieldError{Field: "demand", Value: demand, Want: "a number in (0, 10⁶]"}
	}
	return max(int64(math.Round(demand*demandUnit)), 1), nil
}
