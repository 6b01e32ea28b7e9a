package reserve

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Account is one node's side of a Ledger. Its methods but Cap read atomics: they
// take no lock. None allocates. Safe for concurrent use.
type Account struct {
	node string
	// The sums of the entries' shares.
	sums             sums
	stalled, overdue atomic.Int64
	flying           atomic.Int64
	confirmed        atomic.Int64
	trickled         atomic.Int64
	// held is the sum of the holds, in units of pods.
	held atomic.Int64
	// listing is what the node's newest report lists; nil before the first.
	listing atomic.Pointer[listing]

	// Guarded by Ledger.mu: the entries and holds that point here, the holders that
	// Release has still to come for, and pods that reports no longer list.
	tracked, holders int
	unlisted         []unlisted

	turnover turnover
}

// InFlight returns the summed demand of the node's pods in flight, in pods.
func (a *Account) InFlight() float64 { return inPods(a.sums.pods.Load()) }

// InFlightCores returns the cores that the node's pods in flight are expected to keep
// busy: the sum of [Demand.Cores].
func (a *Account) InFlightCores() float64 { return inPods(a.sums.cores.Load()) }

// Pods returns the number of the node's pods in flight.
func (a *Account) Pods() int { return int(a.flying.Load()) }

// Held returns the room that is kept free on the node ([Ledger.Hold]), in pods.
func (a *Account) Held() float64 { return inPods(a.held.Load()) }

// Flight returns what the node's pods in flight ask for, and what is held.
func (a *Account) Flight() Flight {
	f := Flight{
		Demand: inPods(a.sums.pods.Load()), Stalled: inPods(a.stalled.Load()), Overdue: inPods(a.overdue.Load()),
		Cores: inPods(a.sums.cores.Load()), Held: a.Held(),
	}
	if known := a.sums.known.Load(); known != 0 {
		f.Known = a.sums.of(known)
	}
	return f
}

// Confirmed returns the number of pods that both the API shows on the node, or a
// scheduler has reserved there, and a report has listed.
func (a *Account) Confirmed() int { return int(a.confirmed.Load()) }

// Trickled returns the number of the node's claimed pods that MarkTrickled marked,
// less those that are [Stalled]: what never starts must not keep the next one waiting
// for ever.
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
type share struct {
	units
	stalled, overdue, flying, confirmed, trickled int64
}

// sums are those of units.
type sums struct {
	pods, known               atomic.Int64
	typical, amount, variance [Resources]atomic.Int64
	cores                     atomic.Int64
}

// shift replaces one addend by another.
func (s *sums) shift(before, after units) {
	if before == after {
		return
	}
	move(&s.pods, before.pods, after.pods)
	move(&s.cores, before.cores, after.cores)
	for i := range s.amount {
		move(&s.typical[i], before.typical[i], after.typical[i])
		move(&s.amount[i], before.amount[i], after.amount[i])
		move(&s.variance[i], before.variance[i], after.variance[i])
	}
	move(&s.known, before.known, after.known)
}

// of is what the known pods ask for, of whom there are some.
func (s *sums) of(known int64) Known {
	all := Known{Pods: inPods(known)}
	for i := range s.amount {
		all.Typical[i] = inPods(s.typical[i].Load())
		all.Amount[i] = float64(s.amount[i].Load()) / amountUnit[i]
		all.Var[i] = float64(s.variance[i].Load()) / varUnit[i]
	}
	return all
}

// shift replaces an entry's share by another, each sum in one step: a reader
// never misses a pod that was in flight before and is after.
func (a *Account) shift(before, after share) {
	a.sums.shift(before.units, after.units)
	move(&a.stalled, before.stalled, after.stalled)
	move(&a.overdue, before.overdue, after.overdue)
	move(&a.flying, before.flying, after.flying)
	move(&a.confirmed, before.confirmed, after.confirmed)
	move(&a.trickled, before.trickled, after.trickled)
}

func move(sum *atomic.Int64, before, after int64) {
	if before != after {
		sum.Add(after - before)
	}
}
