package reserve

import (
	"container/list"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math"
	"slices"
	"strings"
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

	// Ledger.mu guards the rest: what the node's newest report lists, ascending, and its incarnation;
	// the entries that point here, the holders that Release has still to come for, pods that
	// reports no longer list, and the pods in flight that have settled while they ran.
	listed           []PodKey
	incarnation      uint64
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

// Confirmed returns the number of pods that the API shows on the node, or a scheduler has
// reserved there, and that are no longer in flight: a report has listed them,
// [Ledger.ConfirmRunning] took them out of flight, or a container of theirs has ended.
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

// Claim is the source of the knowledge that a pod is on a node.
type Claim uint8

const (
	// Assumed: a scheduler reserved room; the bind is on its way. The zero value is no claim.
	Assumed Claim = iota + 1
	// Bound: the API says so.
	Bound
)

// Progress is how far the API shows a pod on its way to run.
type Progress uint8

const (
	// Starting: only the node keeps its containers waiting, or they run.
	Starting Progress = iota
	// Initializing: no container except its init containers has run yet. A report that
	// no longer lists it sees a gap between two of them, not its end.
	Initializing
	// Stalled: it waits for something that the node can't give: an image that can't
	// be pulled, a missing configuration, an init container that keeps
	// failing. It may start at any time, so it keeps its room.
	Stalled
	// Ended: a container of it has run and ended, so that no report may ever list
	// it again.
	Ended
)

// entry is one claimed pod, or one that room is held for. Its share and its queues follow from the
// other fields; Ledger.change keeps them.
type entry struct {
	pod      PodKey
	account  *Account
	asks     units
	held     bool
	claim    Claim
	progress Progress
	// confirmed reports whether a report lists the pod, late whether it has been in flight for
	// longer than patience, overdue whether MarkOverdue marked it.
	confirmed, late, overdue bool
	// standing is what the API shows of the containers, since when, and settled whether it has
	// shown that for settleTime. ran stays set once it was so while they ran.
	standing     Standing
	since        time.Time
	settled, ran bool
	// assumed and flying are since when the claim is Assumed and since when the
	// pod is in flight.
	assumed, flying time.Time
	// queued are the entry's places in the queues of the ledger, nil where it is in none.
	queued [queues]*list.Element
}

func (e *entry) inFlight() bool { return !e.held && !e.confirmed && e.progress != Ended }

func (e *entry) share() (s share) {
	pods := e.asks[podSum]
	if e.held {
		s[held] = pods
		return s
	}
	if e.overdue && e.progress != Stalled {
		s[overdue] = 1
	}
	if !e.confirmed && !e.ran && !e.settled {
		s[unseen] = pods
	}
	if e.confirmed || e.ran {
		s[running] = 1
	}
	if !e.inFlight() {
		s[confirmed] = 1
		return s
	}
	if e.ran {
		s[unlistedRunning] = 1
	}
	copy(s[:], e.asks[:])
	switch {
	case e.progress == Stalled:
		s[stalled] = pods
	case e.late:
		s[late] = pods
	}
	return s
}

// waits reports whether a time limit of a queue holds for the entry.
func (e *entry) waits(queue int) bool {
	switch queue {
	case byAssumed:
		return e.claim == Assumed
	case byFlight:
		return e.inFlight() && !e.late
	}
	return (e.standing.Runs || e.standing.Held) && !e.settled && !e.ran
}

// returns reports whether a pod that a report listed and the next does not list is
// still to come.
func (e *entry) returns() bool { return e.progress == Initializing || e.progress == Stalled }

// Standing is what the API shows of a pod's containers. The zero value is a pod whose
// containers are on their way.
type Standing struct {
	// Runs: all of them run, or have ended beside one that runs. Held: one can't be started,
	// and kubelet will try again. At most one of the two is true.
	Runs, Held bool
	// Restarts is how often the containers were started again, in sum. When it changes, the ten
	// seconds that [Ledger.Stands] waits for begin anew.
	Restarts int32
}

// settleTime is how long the API has to show that a pod's containers run, or are held
// up, until slow start no longer waits for the pod on a node without a report. It is
// measured by the scheduler's clock because kubelet's may be off.
const settleTime = 10 * time.Second

// PodState is what a Ledger knows of a claimed pod. It is in flight if it is not
// confirmed.
type PodState struct {
	Node     string
	Demand   Demand
	Claim    Claim
	Progress Progress
	// Confirmed reports whether the pod is out of flight: a report of Node listed it,
	// [Ledger.ConfirmRunning] took it out, or a container of it has ended. [Ledger.Confirm] defines
	// for how long it stays so.
	Confirmed bool
	// Overdue: the pod was overdue and admitted without room.
	Overdue bool
}

// Pod returns what the ledger knows of a claimed pod.
func (l *Ledger) Pod(pod PodKey) (PodState, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.claimed(pod)
	if e == nil {
		return PodState{}, false
	}
	return PodState{
		Node: e.account.node, Demand: e.asks.demand(), Claim: e.claim, Progress: e.progress,
		Confirmed: !e.inFlight(), Overdue: e.overdue,
	}, true
}

// Census counts a ledger's pods.
type Census struct {
	// Assumed and Bound are the pods in flight by claim.
	Assumed, Bound int
	// Confirmed are the claimed pods that a report lists or that have run, Unclaimed those that
	// only a report lists or has listed.
	Confirmed int `json:"Absorbed"`
	Unclaimed int
	// Held are the pods in whose names room is held.
	Held int `json:",omitempty"`
}

// Census counts all pods; O(pods).
func (l *Ledger) Census() Census {
	var c Census
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		switch {
		case e.held:
			c.Held++
		case !e.inFlight():
			c.Confirmed++
		case e.claim == Assumed:
			c.Assumed++
		default:
			c.Bound++
		}
	}
	for _, a := range l.accounts {
		c.Unclaimed += l.unclaimed(a)
	}
	return c
}

// unclaimed counts the pods that a node lists or has listed and that are not claimed.
func (l *Ledger) unclaimed(a *Account) int {
	pods := slices.Clone(a.listed)
	for _, u := range a.unlisted {
		pods = append(pods, u.pod)
	}
	slices.Sort(pods)
	pods = slices.DeleteFunc(slices.Compact(pods), func(pod PodKey) bool { return l.claimed(pod) != nil })
	return len(pods)
}

// missing returns the pods that another list lacks. Both ascend.
func missing(pods, from []PodKey) (list []PodKey) {
	for _, pod := range pods {
		if !isListed(from, pod) {
			list = append(list, pod)
		}
	}
	return list
}

func isListed(pods []PodKey, pod PodKey) bool {
	_, ok := slices.BinarySearch(pods, pod)
	return ok
}

// unlisted is a pod that a report listed, that the next did not list and that was not
// claimed by then: it may have ended before the API's event of its bind came.
type unlisted struct {
	pod PodKey
	at  time.Time
}

// unlistedMost bounds them on each node, whatever its reports list: a node that
// ends twenty pods a second, and a watch that lags by ten seconds, need 200.
const unlistedMost = 512

// remember keeps a pod until linger has passed, or the node has too many.
func (a *Account) remember(pod PodKey, now time.Time) {
	if len(a.unlisted) == unlistedMost {
		a.unlisted = slices.Delete(a.unlisted, 0, 1)
	}
	a.unlisted = append(a.unlisted, unlisted{pod, now})
}

// counts reports whether a report lists the pod, or did so a moment ago.
func (a *Account) counts(pod PodKey) bool {
	return isListed(a.listed, pod) || slices.ContainsFunc(a.unlisted, func(u unlisted) bool { return u.pod == pod })
}

// PodKey identifies a pod in reports and in the ledger: the first eight bytes
// of its UID. The UID's remaining half is not carried: of a random UUID's first
// 64 bits 60 are random and four are its version, so that among n pods alive at
// once two share a key with probability n²/2⁶¹, 4·10⁻⁹ for 100,000 pods.
type PodKey uint64

// KeyOf returns the key of a pod's UID. The first 16 hexadecimal digits, dashes
// and underscores ignored, are read big-endian, so that the API's form
// (3f1c0e52-9a7b-…) and that of a systemd cgroup (3f1c0e52_9a7b_…) agree in
// either case. A UID that does not start with 16 such digits is hashed with
// FNV-1a, underscores taken for dashes. KeyOf does not allocate for such a UID as the API gives.
func KeyOf(uid string) PodKey {
	var digits [16]byte
	n := 0
	for i := 0; i < len(uid) && n < len(digits); i++ {
		if uid[i] != '-' && uid[i] != '_' {
			digits[n] = uid[i]
			n++
		}
	}
	var key [8]byte
	if n == len(digits) {
		if _, err := hex.Decode(key[:], digits[:]); err == nil {
			return PodKey(binary.BigEndian.Uint64(key[:]))
		}
	}
	hash := fnv.New64a()
	hash.Write([]byte(strings.ReplaceAll(uid, "_", "-")))
	return PodKey(hash.Sum64())
}
