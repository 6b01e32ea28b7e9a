package reserve

import (
	"math"
	"sync"
	"time"
)

// Account is one node's side of a Ledger. None of its methods allocates. Safe for
// concurrent use.
type Account struct {
	node string
	// mu guards the sums and what has ended. It is held for one change or one copy, so that a
	// reader never sees a part of a change; it comes after Ledger.mu.
	mu sync.Mutex
	// sum is the sum of the entries' shares.
	sum share
	// ended counts the pods that ran on the node and ended, each for half after
	// turnoverHalfLife, as of the time since.
	ended float64
	since time.Time

	// Ledger.mu guards the rest: what the node's newest report lists, nil before the first; the
	// entries that point here, the holders that Release has still to come for, pods that
	// reports no longer list, and the pods in flight that have settled while they ran.
	listing          *listing
	tracked, holders int
	unlisted         []unlisted
	ran              map[*entry]struct{}
}

// turnoverHalfLife: an allowance fills slots that free up within one start-up,
// which lasts seconds and hardly ever a minute.
const turnoverHalfLife = time.Minute

// total returns the sums as they are at one moment.
func (a *Account) total() share {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sum
}

// InFlight returns the summed demand of the node's pods in flight, in pods.
func (a *Account) InFlight() float64 { return a.Flight().Demand }

// Pods returns the number of the node's pods in flight.
func (a *Account) Pods() int { return int(a.total()[flying]) }

// Flight returns what the node's pods in flight ask for, and what is held, all of it at one
// moment.
func (a *Account) Flight() Flight {
	sum := a.total()
	f := Flight{
		Demand: sum.of(podSum), Stalled: sum.of(stalled), Late: sum.of(late), Cores: sum.of(coreSum), Held: sum.of(held),
		Silent: float64(sum[unseen]-sum[podSum]+sum[stalled]) / scale[podSum],
	}
	if sum[profiled] == 0 {
		return f
	}
	f.Known.Pods = sum.of(profiled)
	for i := range Resources {
		f.Known.Typical[i], f.Known.Amount[i], f.Known.Var[i] = sum.of(typicalSum+i), sum.of(amountSum+i), sum.of(varSum+i)
	}
	return f
}

// Confirmed returns the number of pods that both the API shows on the node, or a
// scheduler has reserved there, and a report has listed.
func (a *Account) Confirmed() int { return int(a.total()[confirmed]) }

// Running returns the number of pods that a report of the node listed, or that the API
// has shown running for ten seconds: n, where no report comes.
func (a *Account) Running() int { return int(a.total()[running]) }

// Overdue returns the number of the node's claimed pods that MarkOverdue marked, without
// those that are [Stalled]: a pod that never starts must not keep the next one waiting
// for ever.
func (a *Account) Overdue() int { return int(a.total()[overdue]) }

// Cap returns a report's signal with the two numbers that raise slow start's
// line held to what the ledger itself has seen, because the line guards
// against a report that is wrong: n to the confirmed pods, the allowance, which
// stands for the pods that end while one starts, to those that ended in the last
// minute or so.
func (a *Account) Cap(s Signal, now time.Time) Signal {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.Pods = min(s.Pods, int(a.sum[confirmed]))
	s.Allowance = math.Min(s.Allowance, a.recentlyEnded(now))
	return s
}

// countEnd counts a pod that ran and ended.
func (a *Account) countEnd(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = a.recentlyEnded(now) + 1
	if now.After(a.since) {
		a.since = now
	}
}

// recentlyEnded takes a clock that was set back for one that stands still; a.mu is held.
func (a *Account) recentlyEnded(now time.Time) float64 {
	age := now.Sub(a.since)
	if a.ended == 0 || age <= 0 {
		return a.ended
	}
	return a.ended * math.Exp2(-age.Seconds()/turnoverHalfLife.Seconds())
}

// shift replaces an entry's share by another in one step: a reader never misses a pod that
// was in flight before and is after, and never sees a part of either share.
func (a *Account) shift(before, after share) {
	if before == after {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.sum {
		a.sum[i] += after[i] - before[i]
	}
}
