package reserve

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrBoundElsewhere is the reason of a refused Reserve: the API shows the
// pod bound to another node.
var ErrBoundElsewhere = errors.New("bound to another node")

// The queues of a Ledger.
const (
	byAssumed = iota
	byFlight
	bySettling
	queues
)

// Ledger knows the pods that a node was given and has not yet reported. Every
// update is O(1), except Confirm, which is O(pods listed), and Expire, O(pods
// expired). What a node's reports say takes memory bounded by their lists'
// length, not their number. The zero value is ready, with default limits. It is safe
// for concurrent use. For one node, the caller makes each decision and its Reserve one
// step that no other decision enters, and takes in one report at a time.
type Ledger struct {
	// ttl, linger and patience replace the defaults of these names unless they are 0; only tests
	// set other than ttl.
	ttl, linger, patience time.Duration

	mu sync.Mutex
	// accounts is nil before the first one, entries and lingering with it.
	accounts map[string]*Account
	entries  map[PodKey]*entry
	// queues hold the entries that a limit watches, oldest first.
	queues [queues]list.List
	// lingering are the accounts with unlisted pods.
	lingering map[*Account]struct{}
}

// NewLedger returns an empty ledger in which an assumed pod may wait for its bind for ttl; 0 means the
// default, 15 min, more than the 10 min a volume may take to bind. A bound pod has no such limit: pulling
// its image may take any time. A negative ttl is an ErrInvalid.
func NewLedger(ttl time.Duration) (*Ledger, error) {
	if ttl < 0 {
		return nil, refuse("ttl", ttl, "above 0, or 0 for the default")
	}
	return &Ledger{ttl: ttl}, nil
}

// Account returns the node's account, which it makes if there is none. The caller holds it until
// it calls Release once, and Confirm ignores the reports of a node that has no holder. A node without
// a holder has an account for as long as a pod is claimed for it or room is held there.
func (l *Ledger) Account(node string) *Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(node)
	a.holders++
	return a
}

// Release ends what one call of Account began. The caller does not use the account afterwards.
func (l *Ledger) Release(a *Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.holders--
	l.dropIdle(a)
}

// account returns the node's account, made if need be; l.mu is held.
func (l *Ledger) account(node string) *Account {
	a := l.accounts[node]
	if a == nil {
		if l.accounts == nil {
			l.accounts, l.entries, l.lingering = make(map[string]*Account), make(map[PodKey]*entry), make(map[*Account]struct{})
		}
		a = &Account{node: node, ran: make(map[*entry]struct{})}
		l.accounts[node] = a
	}
	return a
}

// dropIdle forgets an account that has no holder, no claimed pod and no held room.
func (l *Ledger) dropIdle(a *Account) {
	if a.tracked > 0 || a.holders > 0 {
		return
	}
	if l.accounts[a.node] == a {
		delete(l.accounts, a.node)
	}
	delete(l.lingering, a)
}

// claimed returns the entry of a claimed pod, or nil; l.mu is held.
func (l *Ledger) claimed(pod PodKey) *entry {
	if e := l.entries[pod]; e != nil && !e.held {
		return e
	}
	return nil
}

// Reserve puts a pod in flight to a node, assumed until MarkBound or Bound.
// A demand that does not validate is an ErrInvalid. Repeating it renews the time
// limit; for another node it moves the pod. A pod that the API says is
// on this node stays as it is, one on another node is refused with
// ErrBoundElsewhere.
func (l *Ledger) Reserve(node string, pod PodKey, d Demand, now time.Time) error {
	asks, err := unitsOf(d)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := l.claimed(pod); {
	case e == nil:
	case e.claim == Bound && e.account.node == node:
		return nil
	case e.claim == Bound:
		return fmt.Errorf("reserve: pod %016x for node %s: %w: %s", uint64(pod), node, ErrBoundElsewhere, e.account.node)
	case !e.inFlight() && e.account.node == node:
		e.assumed = now
		l.leave(e, byAssumed)
		l.enqueue(e)
		return nil
	}
	l.add(&entry{pod: pod, account: l.account(node), asks: asks, claim: Assumed, assumed: now, flying: now}, now)
	return nil
}

// Unreserve takes back a Reserve whose bind failed and reports whether there was
// one. It may be repeated or come without a Reserve, and does nothing to a pod
// that the API says is bound.
func (l *Ledger) Unreserve(node string, pod PodKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.claimed(pod)
	if e == nil || e.claim != Assumed || e.account.node != node {
		return false
	}
	l.remove(e)
	return true
}

// MarkBound marks an assumed pod as bound after a successful bind, and reports
// whether it did. Unlike Bound it never adds a pod: the API's own events may
// already have reported its end.
func (l *Ledger) MarkBound(pod PodKey) bool {
	return l.edit(pod, func(e *entry) bool {
		was := e.claim
		e.claim = Bound
		return was == Assumed
	})
}

// edit changes the entry of a claimed pod, if there is one, and returns what change does.
func (l *Ledger) edit(pod PodKey, change func(*entry) bool) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.claimed(pod); e != nil {
		l.change(e, func() { changed = change(e) })
	}
	return changed
}

// Bound records that the API shows a live pod on a node, whichever scheduler bound it. An
// assumed pod keeps the demand it was reserved at; a confirmed one stays
// confirmed, and so is one that the node's reports list; any other becomes a pod
// in flight, also one that was claimed for another node. Bound returns true if it put
// the pod in flight, and an ErrInvalid for a demand that does not validate.
func (l *Ledger) Bound(node string, pod PodKey, d Demand, now time.Time) (bool, error) {
	asks, err := unitsOf(d)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.claimed(pod); e != nil && e.account.node == node {
		l.change(e, func() { e.claim = Bound })
		return false, nil
	}
	e := &entry{pod: pod, account: l.account(node), asks: asks, claim: Bound, flying: now}
	l.add(e, now)
	return e.inFlight(), nil
}

// UpdateDemand records that more, or less, is known of what a claimed pod takes. It
// returns the node that the pod is on, empty if the pod is not known, and whether
// what the node's flight asks for has changed; a demand that does not validate is
// an ErrInvalid.
func (l *Ledger) UpdateDemand(pod PodKey, d Demand) (node string, changed bool, err error) {
	asks, err := unitsOf(d)
	if err != nil {
		return "", false, err
	}
	changed = l.edit(pod, func(e *entry) bool {
		was := e.asks
		node, e.asks = e.account.node, asks
		return was != asks && e.inFlight()
	})
	return node, changed, nil
}

// Progress records how far the API shows a claimed pod, and reports whether that
// changed what its node's flight asks for. Ended takes the pod out of flight,
// for good.
func (l *Ledger) Progress(pod PodKey, p Progress) bool {
	return l.edit(pod, func(e *entry) bool {
		before := e.share()
		if e.progress != Ended {
			e.progress = p
		}
		return e.share() != before
	})
}

// Stands records what the API shows of a claimed pod's containers, and reports whether that
// changed what its node's flight asks for. Once they have stood so for settleTime, which
// Expire finds, a node without a report no longer waits for the pod: neither for one that
// runs nor, as long as that lasts, for one that is held up.
func (l *Ledger) Stands(pod PodKey, s Standing, now time.Time) bool {
	return l.edit(pod, func(e *entry) bool {
		if e.standing == s {
			return false
		}
		before := e.share()
		e.standing, e.since, e.settled = s, now, false
		l.leave(e, bySettling)
		return e.share() != before
	})
}

// settle ends the time that an entry had to stand as it does.
func (l *Ledger) settle(e *entry) {
	l.change(e, func() { e.settled, e.ran = true, e.standing.Runs })
	if e.ran && e.inFlight() {
		e.account.ran[e] = struct{}{}
	}
}

// ConfirmRunning takes the pods of a node out of flight that the API has shown running for
// settleTime and no report lists, and reports whether there were any. It is for a node that
// reports: what the pods take is in what it measures, though it can't tell which pods do.
func (l *Ledger) ConfirmRunning(a *Account) bool {
	if sum := a.total(); sum[unlistedRunning] == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range a.ran {
		l.change(e, func() { e.confirmed = true })
	}
	clear(a.ran)
	return true
}

// MarkOverdue marks a claimed pod as one that was overdue and admitted without
// room (see [OverdueAdmission]), for as long as it stays on its node, and reports whether
// it was not marked before.
func (l *Ledger) MarkOverdue(pod PodKey) bool {
	return l.edit(pod, func(e *entry) bool {
		was := e.overdue
		e.overdue = true
		return !was
	})
}

// Delete forgets a pod that was deleted or is terminal, and releases the room that was held
// in its name. It returns the node it was on and whether the pod was in flight; the
// node is empty if the pod was not known.
func (l *Ledger) Delete(pod PodKey, now time.Time) (node string, inFlight bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil {
		return "", false
	}
	if !e.held && !e.inFlight() {
		e.account.countEnd(now)
	}
	l.remove(e)
	return e.account.node, e.inFlight()
}

// Confirmation is a pod that a report took out of flight.
type Confirmation struct {
	Pod PodKey
	// InFlightFor is the time since its Reserve if Reserved is true. Otherwise Bound put it in
	// flight, or a report that no longer listed it did, and InFlightFor is the time since then.
	InFlightFor time.Duration
	Reserved    bool
}

// Confirm takes the pods that a report of a node lists out of flight, and returns
// those that left. They stay confirmed until Delete, so that a pod whose container
// ended before its API object frees its slot; but one that is still Initializing
// or Stalled is in flight again when a later report of the same incarnation of
// the agent does not list it. A new incarnation may not know all pods yet.
//
// Listed pods that are not claimed are remembered for a minute after they were
// last listed, so that a late event does not put them in flight. A report changes no pod
// that is claimed for another node, and a node whose Account has no holder has no reports.
func (l *Ledger) Confirm(node string, incarnation uint64, pods []PodKey, now time.Time) (out []Confirmation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[node]
	if a == nil || a.holders == 0 || a.incarnation == incarnation && slices.Equal(a.listed, pods) {
		return nil
	}
	last, continues := a.listed, a.incarnation == incarnation
	listed := slices.Clone(pods)
	slices.Sort(listed)
	a.listed, a.incarnation = slices.Compact(listed), incarnation
	for _, pod := range missing(a.listed, last) {
		if e := l.claimed(pod); e != nil && e.account == a && e.inFlight() {
			l.change(e, func() { e.confirmed = true })
			out = append(out, Confirmation{Pod: pod, InFlightFor: now.Sub(e.flying), Reserved: e.flying.Equal(e.assumed)})
		}
	}
	l.prune(a, now)
	for _, pod := range missing(last, a.listed) {
		switch e := l.claimed(pod); {
		case e == nil:
			a.remember(pod, now)
			l.lingering[a] = struct{}{}
		case e.account == a && e.confirmed && e.returns() && continues:
			l.change(e, func() { e.confirmed, e.flying = false, now })
		}
	}
	return out
}

// prune forgets the pods of an account that were unlisted linger or longer ago, up to the first that
// was not.
func (l *Ledger) prune(a *Account, now time.Time) {
	linger := cmp.Or(l.linger, linger)
	old := slices.IndexFunc(a.unlisted, func(u unlisted) bool { return now.Sub(u.at) < linger })
	if old < 0 {
		a.unlisted = nil
		delete(l.lingering, a)
		return
	}
	a.unlisted = slices.Delete(a.unlisted, 0, old)
}

// Expire drops the assumed pods whose bind has not come for the ttl of NewLedger and returns the
// node of each, and returns the nodes of the pods for which slow start no longer waits: those
// that have now been in flight for two minutes and those that have settled ([Ledger.Stands]), once
// a pod. The times given to one ledger should not run
// backwards; if they do, limits are met late, not early.
func (l *Ledger) Expire(now time.Time) (dropped, moved []string) {
	ttl, patience := cmp.Or(l.ttl, defaultTTL), cmp.Or(l.patience, patience)
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.oldest(byAssumed); e != nil && now.Sub(e.assumed) >= ttl; e = l.oldest(byAssumed) {
		dropped = append(dropped, e.account.node)
		l.remove(e)
	}
	for e := l.oldest(byFlight); e != nil && now.Sub(e.flying) >= patience; e = l.oldest(byFlight) {
		moved = append(moved, e.account.node)
		l.change(e, func() { e.late = true })
	}
	for e := l.oldest(bySettling); e != nil && now.Sub(e.since) >= settleTime; e = l.oldest(bySettling) {
		moved = append(moved, e.account.node)
		l.settle(e)
	}
	for a := range l.lingering {
		l.prune(a, now)
	}
	return dropped, moved
}

// add files a new entry in the place of what the pod had before.
func (l *Ledger) add(e *entry, now time.Time) {
	e.account.tracked++ // first, so that the former entry does not drop the account
	if former := l.entries[e.pod]; former != nil {
		l.remove(former)
	}
	l.entries[e.pod] = e
	l.prune(e.account, now)
	e.confirmed = !e.held && e.account.counts(e.pod)
	e.account.shift(share{}, e.share())
	l.enqueue(e)
}

func (l *Ledger) remove(e *entry) {
	delete(l.entries, e.pod)
	for i := range queues {
		l.leave(e, i)
	}
	delete(e.account.ran, e)
	e.account.tracked--
	e.account.shift(e.share(), share{})
	l.dropIdle(e.account)
}

// change edits an entry and brings its account's sums and the queues up to date.
func (l *Ledger) change(e *entry, edit func()) {
	before := e.share()
	edit()
	if !e.inFlight() {
		e.late = false
	}
	e.account.shift(before, e.share())
	if e.confirmed {
		delete(e.account.ran, e)
	}
	l.enqueue(e)
}

// enqueue puts an entry into the queues of the limits that hold for it, and takes it out of
// the others.
func (l *Ledger) enqueue(e *entry) {
	for i := range queues {
		switch waits := e.waits(i); {
		case waits && e.queued[i] == nil:
			e.queued[i] = l.queues[i].PushBack(e)
		case !waits:
			l.leave(e, i)
		}
	}
}

// leave takes an entry out of a queue, if it is there.
func (l *Ledger) leave(e *entry, queue int) {
	if e.queued[queue] != nil {
		l.queues[queue].Remove(e.queued[queue])
		e.queued[queue] = nil
	}
}

// oldest returns the entry that has been in a queue for longest, or nil.
func (l *Ledger) oldest(queue int) *entry {
	if first := l.queues[queue].Front(); first != nil {
		return first.Value.(*entry)
	}
	return nil
}

const (
	// defaultTTL is how long an assumed pod may wait for its bind; see NewLedger.
	defaultTTL = 15 * time.Minute
	// linger is how long a pod that a report listed but the API has not shown is remembered after
	// it was last listed: more than a watch lags.
	linger = time.Minute
	// patience is how long a pod may be in flight before it no longer holds up those behind it on
	// slow start's line (see [Flight].Late): after that kubelet gives up a request to the container
	// runtime and starts over.
	patience = 2 * time.Minute
)

// maxHold bounds what a pod may hold, like what one may ask for.
const maxHold = 1e6

// Hold keeps room for so many typical pods free on a node, in the name of a pod that
// runs and takes nothing: Free subtracts it until Delete of the pod, and slow
// start ignores it because no report will list the pod. Hold reports whether it
// changed anything. Repeated, it changes how much is held or where. A pod is held
// for or claimed, never both: Hold ends a claim, Reserve and Bound end a hold. A number
// of pods that is not in (0, 1e6] is an ErrInvalid.
func (l *Ledger) Hold(node string, pod PodKey, pods float64) (changed bool, err error) {
	if !(pods > 0 && pods <= maxHold) {
		return false, refuse("pods", pods, "in (0, 1e6]")
	}
	asks, err := unitsOf(Demand{Typical: [Resources]float64{pods, pods}})
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[pod]; e != nil && e.held && e.account.node == node {
		changed = e.asks != asks
		l.change(e, func() { e.asks = asks })
		return changed, nil
	}
	l.add(&entry{pod: pod, account: l.account(node), asks: asks, held: true}, time.Time{})
	return true, nil
}
