package reserve

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Account is one node's side of a Ledger. None of its methods allocates. Safe for
// concurrent use.
type Account struct {
	node string
	// mu guards the sums. It is held for one change or one copy, so that a reader never has
	// a part of a change; it comes after Ledger.mu.
	mu sync.Mutex
	// sum is that of the entries' shares, held that of the holds, in units of pods.
	sum  share
	held int64
	// listing is what the node's newest report lists; nil before the first.
	listing atomic.Pointer[listing]

	// Guarded by Ledger.mu: the entries and holds that point here, the holders that
	// Release has still to come for, and pods that reports no longer list.
	tracked, holders int
	unlisted         []unlisted
	// ran are the pods in flight that have settled while they ran, guarded like these.
	ran map[*entry]struct{}

	turnover turnover
}

// total returns the sums as they are at one moment.
func (a *Account) total() (sum share, held int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sum, a.held
}

// InFlight returns the summed demand of the node's pods in flight, in pods.
func (a *Account) InFlight() float64 { return a.Flight().Demand }

// InFlightCores returns the cores that the node's pods in flight are expected to keep
// busy: the sum of [Demand.Cores].
func (a *Account) InFlightCores() float64 { return a.Flight().Cores }

// Pods returns the number of the node's pods in flight.
func (a *Account) Pods() int {
	sum, _ := a.total()
	return int(sum.flying)
}

// Held returns the room that is kept free on the node ([Ledger.Hold]), in pods.
func (a *Account) Held() float64 { return a.Flight().Held }

// Flight returns what the node's pods in flight ask for, and what is held, all of it at one
// moment.
func (a *Account) Flight() Flight {
	sum, held := a.total()
	f := Flight{
		Demand: inPods(sum.pods), Stalled: inPods(sum.stalled), Overdue: inPods(sum.overdue),
		Silent: inPods(sum.unseen - sum.pods + sum.stalled), Cores: inPods(sum.cores), Held: inPods(held),
	}
	if sum.known != 0 {
		f.Known = sum.knownPods()
	}
	return f
}

// Confirmed returns the number of pods that both the API shows on the node, or a
// scheduler has reserved there, and a report has listed.
func (a *Account) Confirmed() int {
	sum, _ := a.total()
	return int(sum.confirmed)
}

// Running returns the number of pods of which a report of the node listed one, or the API
// has shown it running for ten seconds: n, where no report comes.
func (a *Account) Running() int {
	sum, _ := a.total()
	return int(sum.running)
}

// Trickled returns the number of the node's claimed pods that MarkTrickled marked,
// less those that are [Stalled]: what never starts must not keep the next one waiting
// for ever.
func (a *Account) Trickled() int {
	sum, _ := a.total()
	return int(sum.trickled)
}

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
	stalled, overdue, unseen, flying, confirmed, running, unlisted, trickled int64
}

// add adds a share, or takes it away again where sign is −1.
func (s *share) add(o *share, sign int64) {
	s.pods += sign * o.pods
	s.known += sign * o.known
	s.cores += sign * o.cores
	for i := range s.amount {
		s.typical[i] += sign * o.typical[i]
		s.amount[i] += sign * o.amount[i]
		s.variance[i] += sign * o.variance[i]
	}
	s.stalled += sign * o.stalled
	s.overdue += sign * o.overdue
	s.flying += sign * o.flying
	s.confirmed += sign * o.confirmed
	s.unseen += sign * o.unseen
	s.running += sign * o.running
	s.unlisted += sign * o.unlisted
	s.trickled += sign * o.trickled
}

// knownPods returns what the known pods of a sum ask for, of which there are some.
func (u *units) knownPods() Known {
	all := Known{Pods: inPods(u.known)}
	for i := range u.amount {
		all.Typical[i] = inPods(u.typical[i])
		all.Amount[i] = float64(u.amount[i]) / amountUnit[i]
		all.Var[i] = float64(u.variance[i]) / varUnit[i]
	}
	return all
}

// shift replaces an entry's share by another in one step: a reader never misses a pod that
// was in flight before and is after, and never has a part of either share.
func (a *Account) shift(before, after share) {
	if before == after {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sum.add(&before, -1)
	a.sum.add(&after, 1)
}

// hold changes what is held by so many units.
func (a *Account) hold(units int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held += units
}
