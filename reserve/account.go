package reserve

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// demandUnit: sums of demand are kept in whole millionths of a pod, so that
// adding and subtracting any sequence of demands ends at exactly 0.
const demandUnit = 1e6

// Account is one node's side of a Ledger. Its methods but Cap read atomics: they
// take no lock. None allocates. Safe for concurrent use.
type Account struct {
	node string
	// The sums of the entries' shares.
	demand, stalled, overdue atomic.Int64
	pods, confirmed          atomic.Int64
	trickled                 atomic.Int64
	// listing is what the node's newest report lists; nil before the first.
	listing atomic.Pointer[listing]

	// Guarded by Ledger.mu: the entries that point here, the holders that
	// Release has still to come for, and pods that reports no longer list.
	tracked, holders int
	unlisted         []unlisted

	turnover turnover
}

// InFlight returns the summed demand of the node's pods in flight, in pods.
func (a *Account) InFlight() float64 { return inPods(a.demand.Load()) }

// Pods returns the number of the node's pods in flight.
func (a *Account) Pods() int { return int(a.pods.Load()) }

// Flight returns what the node's pods in flight ask for.
func (a *Account) Flight() Flight {
	return Flight{Demand: inPods(a.demand.Load()), Stalled: inPods(a.stalled.Load()), Overdue: inPods(a.overdue.Load())}
}

// Confirmed returns the number of pods that both the API shows on the node, or a
// scheduler has reserved there, and a report has listed.
func (a *Account) Confirmed() int { return int(a.confirmed.Load()) }

// Trickled returns the number of the node's claimed pods that MarkTrickled marked.
func (a *Account) Trickled() int { return int(a.trickled.Load()) }

// Cap returns a report's signal with the two numbers that raise slow start's
// line held to what the ledger itself has seen, for the line is what guards
// against a report that is wrong: n to the confirmed pods, the allowance, which
// stands for the pods that end while one starts, to those that ended in the last
// minute or so.
func (a *Account) Cap(s Signal, now time.Time) Signal {
	s.Pods = min(s.Pods, a.Confirmed())
	s.Allowance = math.Min(s.Allowance, a.turnover.at(now))
	return s
}

// turnoverHalfLife: an allowance fills slots that free up within one start-up,
// which lasts seconds and hardly ever a minute.
const turnoverHalfLife = time.Minute

// turnover counts the pods that ran on a node and ended, each for half after
// turnoverHalfLife. The zero value has counted none. Safe for concurrent use.
type turnover struct {
	mu    sync.Mutex
	pods  float64
	since time.Time
}

func (t *turnover) add(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pods = t.decayed(now) + 1
	if now.After(t.since) {
		t.since = now
	}
}

func (t *turnover) at(now time.Time) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decayed(now)
}

// decayed takes a clock that was set back for one that stands still.
func (t *turnover) decayed(now time.Time) float64 {
	age := now.Sub(t.since)
	if t.pods == 0 || age <= 0 {
		return t.pods
	}
	return t.pods * math.Exp2(-age.Seconds()/turnoverHalfLife.Seconds())
}

// share is what one entry adds to its account's sums.
type share struct{ demand, stalled, overdue, pods, confirmed, trickled int64 }

// shift replaces an entry's share by another, each sum in one step: a reader
// never misses a pod that was in flight before and is after.
func (a *Account) shift(before, after share) {
	move(&a.demand, before.demand, after.demand)
	move(&a.stalled, before.stalled, after.stalled)
	move(&a.overdue, before.overdue, after.overdue)
	move(&a.pods, before.pods, after.pods)
	move(&a.confirmed, before.confirmed, after.confirmed)
	move(&a.trickled, before.trickled, after.trickled)
}

func move(sum *atomic.Int64, before, after int64) {
	if before != after {
		sum.Add(after - before)
	}
}

func inPods(units int64) float64 { return float64(units) / demandUnit }

// toUnits converts a demand; the error is a *FieldError.
func toUnits(demand float64) (int64, error) {
	if !(demand > 0 && demand <= 1e6) {
		return 0, refuse("demand", demand, "in (0, 10⁶]")
	}
	return max(int64(math.Round(demand*demandUnit)), 1), nil
}
