package reserve

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrBoundElsewhere is the reason of a refused Reserve: the API says that the
// pod is bound to another node.
var ErrBoundElsewhere = errors.New("bound to another node")

// Ledger knows the pods that a node was given and has not yet reported. Every
// update is O(1), but Absorb, which is O(pods listed), and Expire, O(pods
// expired). What a node's reports say takes memory bounded by their lists'
// length, not their number. The zero value is ready, with default limits. Safe
// for concurrent use; the caller serialises Fits with Reserve, and reports, for
// one node.
type Ledger struct {
	config LedgerConfig

	mu      sync.Mutex
	entries map[PodKey]*entry
	// holds are by the pods that room is held for; none of them has an entry.
	holds map[PodKey]hold
	// assumed, flight and settling hold the entries that a limit watches, oldest first.
	assumed, flight, settling queue
	// lingering are the accounts with unlisted pods.
	lingering map[*Account]struct{}

	directory sync.RWMutex
	accounts  map[string]*Account
}

// NewLedger returns an empty ledger, or the ErrInvalid of c.Validate.
func NewLedger(c LedgerConfig) (*Ledger, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Ledger{config: c}, nil
}

// Account returns the node's account, made if need be, for the caller to hold:
// until Release it is the node's, and the node's reports count. A node without a
// holder has an account for as long as a pod is claimed for it or room is held there.
func (l *Ledger) Account(node string) *Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(node)
	a.holders++
	return a
}

// Release ends one Account.
func (l *Ledger) Release(a *Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.holders--
	l.dropIdle(a)
}

// find returns the node's account or nil.
func (l *Ledger) find(node string) *Account {
	l.directory.RLock()
	defer l.directory.RUnlock()
	return l.accounts[node]
}

// account returns the node's account, made if need be; l.mu is held.
func (l *Ledger) account(node string) *Account {
	if a := l.find(node); a != nil {
		return a
	}
	l.directory.Lock()
	defer l.directory.Unlock()
	if l.accounts == nil {
		l.accounts = make(map[string]*Account)
	}
	a := &Account{node: node}
	l.accounts[node] = a
	return a
}

// dropIdle forgets an account that nobody holds, no pod is claimed for and no room is
// held on.
func (l *Ledger) dropIdle(a *Account) {
	if a.tracked > 0 || a.holders > 0 {
		return
	}
	l.directory.Lock()
	defer l.directory.Unlock()
	if l.accounts[a.node] == a {
		delete(l.accounts, a.node)
	}
	delete(l.lingering, a)
}

// InFlight returns the summed demand of the node's pods in flight, in pods; 0
// for a node it has not heard of. It allocates nothing.
func (l *Ledger) InFlight(node string) float64 {
	a := l.find(node)
	if a == nil {
		return 0
	}
	return a.InFlight()
}

// Reserve puts a pod in flight to a node, assumed until Confirm or Bound.
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
	switch e := l.entries[pod]; {
	case e == nil:
	case e.claim == Bound && e.account.node == node:
		return nil
	case e.claim == Bound:
		return fmt.Errorf("reserve: pod %016x for node %s: %w: %s", uint64(pod), node, ErrBoundElsewhere, e.account.node)
	case !e.inFlight() && e.account.node == node:
		e.assumed = now
		e.byAssumed.remove()
		l.enqueue(e)
		return nil
	default:
		l.remove(e)
	}
	l.add(&entry{pod: pod, account: l.account(node), asks: asks, claim: Assumed, assumed: now, flying: now}, now)
	return nil
}

// Unreserve takes back a Reserve whose bind failed and says whether there was
// one. It may be repeated or come without a Reserve, and does nothing to a pod
// that the API says is bound.
func (l *Ledger) Unreserve(node string, pod PodKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil || e.claim != Assumed || e.account.node != node {
		return false
	}
	l.remove(e)
	return true
}

// Confirm marks an assumed pod as bound after a successful bind, and says
// whether it did. Unlike Bound it never adds a pod: the API's own events may
// already have told of its end.
func (l *Ledger) Confirm(pod PodKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil || e.claim != Assumed {
		return false
	}
	l.change(e, func() { e.claim = Bound })
	return true
}

// Bound records that the API shows a live pod on a node, whoever bound it. An
// assumed pod keeps the demand it was reserved at; an absorbed one stays
// absorbed, and so is one that the node's reports list; any other becomes a pod
// in flight. It reports whether that happened, or the ErrInvalid of a demand that
// does not validate.
func (l *Ledger) Bound(node string, pod PodKey, d Demand, now time.Time) (bool, error) {
	asks, err := unitsOf(d)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e != nil && e.account.node == node {
		l.change(e, func() { e.claim = Bound })
		return false, nil
	}
	if e != nil {
		l.remove(e)
	}
	e = &entry{pod: pod, account: l.account(node), asks: asks, claim: Bound, flying: now}
	l.add(e, now)
	return e.inFlight(), nil
}

// Reprice records that more, or less, is known of what a claimed pod takes. It
// returns the node that the pod is on, empty if the pod is not known, and whether
// what the node's flight asks for has changed; a demand that does not validate is
// an ErrInvalid.
func (l *Ledger) Reprice(pod PodKey, d Demand) (node string, changed bool, err error) {
	asks, err := unitsOf(d)
	if err != nil {
		return "", false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil {
		return "", false, nil
	}
	if e.asks == asks {
		return e.account.node, false, nil
	}
	l.change(e, func() { e.asks = asks })
	return e.account.node, e.inFlight(), nil
}

// Progress records how far the API shows a claimed pod, and says whether that
// changed what its node's flight asks for. Ended takes the pod out of flight,
// for good.
func (l *Ledger) Progress(pod PodKey, p Progress) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil || e.progress == p || e.progress == Ended {
		return false
	}
	before := e.share()
	l.change(e, func() { e.progress = p })
	return e.share() != before
}

// Stands records what the API shows of a claimed pod's containers, and reports whether that
// changed what its node's flight asks for. Once they have stood so for settleTime, which
// Expire finds, a node without a report no longer waits for the pod: neither for one that
// runs nor, as long as that lasts, for one that is held up.
func (l *Ledger) Stands(pod PodKey, s Standing, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil || e.standing == s {
		return false
	}
	before := e.share()
	l.change(e, func() { e.standing, e.since, e.settled = s, now, false })
	e.bySettling.remove()
	if (s.Runs || s.Held) && !e.ran {
		l.settling.push(&e.bySettling)
	}
	return e.share() != before
}

// settle ends the time that an entry had to stand as it does.
func (l *Ledger) settle(e *entry) {
	e.bySettling.remove()
	l.change(e, func() { e.settled, e.ran = true, e.standing.Runs })
	if !e.ran || !e.inFlight() {
		return
	}
	if e.account.ran == nil {
		e.account.ran = make(map[*entry]struct{})
	}
	e.account.ran[e] = struct{}{}
}

// ConfirmRunning takes the pods of a node out of flight that the API has shown running for
// settleTime and no report lists, and reports whether there were any. It is for a node that
// reports: what the pods take is in what it measures, though it can't tell which pods do.
func (l *Ledger) ConfirmRunning(a *Account) bool {
	if sum, _ := a.total(); sum.unlisted == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range a.ran {
		l.change(e, func() { e.absorbed = true })
	}
	clear(a.ran)
	return true
}

// MarkTrickled marks a claimed pod as one that was overdue and admitted without
// room (see [Trickle]), for as long as it stays on its node, and says whether that
// is news.
func (l *Ledger) MarkTrickled(pod PodKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil || e.trickled {
		return false
	}
	l.change(e, func() { e.trickled = true })
	return true
}

// Delete forgets a pod that was deleted or is terminal, and gives back what was held
// in its name. It returns the node it was on and whether the pod was in flight; the
// node is empty if the pod was not known.
func (l *Ledger) Delete(pod PodKey, now time.Time) (node string, inFlight bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil {
		return l.unhold(pod), false
	}
	if !e.inFlight() {
		e.account.turnover.add(now)
	}
	node, inFlight = e.account.node, e.inFlight()
	l.remove(e)
	return node, inFlight
}

// Landing is a pod that a report took out of flight.
type Landing struct {
	Pod PodKey
	// Flown is how long it was in flight: since its Reserve if Reserved, which is
	// false for a pod that only the API told of, or that has flown before.
	Flown    time.Duration
	Reserved bool
}

// Absorb takes the pods that a report of a node lists out of flight, and returns
// those that left. They stay absorbed until Delete, so that a pod whose container
// ended before its API object frees its slot; but one that is still Initializing
// or Stalled is in flight again when a later report of the same incarnation of
// the agent does not list it. A new incarnation may not know all pods yet.
//
// Listed pods that nobody has claimed are remembered until Linger after they were
// last listed, so that a late event does not put them in flight. A pod claimed
// for another node is none of the reporting node's business, and a node whose
// Account nobody holds has no reports. A report that lists what the last one did
// takes no lock of the ledger.
func (l *Ledger) Absorb(node string, incarnation uint64, pods []PodKey, now time.Time) (landed []Landing) {
	a := l.find(node)
	if a == nil || a.listing.Load().repeats(incarnation, pods) {
		return nil
	}
	newest := newListing(incarnation, pods)
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.holders == 0 {
		return nil
	}
	last := a.listing.Swap(newest)
	newest.missingFrom(last, func(pod PodKey) {
		if e := l.entries[pod]; e != nil && e.account == a && e.inFlight() {
			l.change(e, func() { e.absorbed = true })
			landed = append(landed, Landing{Pod: pod, Flown: now.Sub(e.flying), Reserved: e.flying.Equal(e.assumed)})
		}
	})
	a.prune(now, l.config.withDefaults().Linger)
	last.missingFrom(newest, func(pod PodKey) {
		switch e := l.entries[pod]; {
		case e == nil:
			a.leave(pod, now)
		case e.account == a && e.absorbed && e.returns() && last.incarnation == incarnation:
			l.change(e, func() { e.absorbed, e.flying = false, now })
		}
	})
	l.watch(a)
	return landed
}

// watch has Expire prune an account's unlisted pods.
func (l *Ledger) watch(a *Account) {
	if len(a.unlisted) == 0 {
		delete(l.lingering, a)
		return
	}
	if l.lingering == nil {
		l.lingering = make(map[*Account]struct{})
	}
	l.lingering[a] = struct{}{}
}

// Expire drops the assumed pods whose bind has not come for TTL and returns the
// node of each, and returns the nodes of the pods for which slow start no longer waits: those
// that have now been in flight for Patience and those that have settled ([Ledger.Stands]), once
// a pod. The times given to one ledger should not run
// backwards; if they do, limits are met late, not early.
func (l *Ledger) Expire(now time.Time) (dropped, moved []string) {
	limits := l.config.withDefaults()
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.assumed.oldest(); e != nil && now.Sub(e.assumed) >= limits.TTL; e = l.assumed.oldest() {
		dropped = append(dropped, e.account.node)
		l.remove(e)
	}
	for e := l.flight.oldest(); e != nil && now.Sub(e.flying) >= limits.Patience; e = l.flight.oldest() {
		moved = append(moved, e.account.node)
		l.change(e, func() { e.overdue = true })
	}
	for e := l.settling.oldest(); e != nil && now.Sub(e.since) >= settleTime; e = l.settling.oldest() {
		moved = append(moved, e.account.node)
		l.settle(e)
	}
	for a := range l.lingering {
		a.prune(now, limits.Linger)
		l.watch(a)
	}
	return dropped, moved
}

// add files a new entry; the pod must not have one.
func (l *Ledger) add(e *entry, now time.Time) {
	if l.entries == nil {
		l.entries = make(map[PodKey]*entry)
	}
	l.entries[e.pod] = e
	e.byAssumed.entry, e.byFlight.entry, e.bySettling.entry = e, e, e
	e.account.prune(now, l.config.withDefaults().Linger)
	e.absorbed = e.account.counts(e.pod)
	e.account.tracked++
	e.account.shift(share{}, e.share())
	l.unhold(e.pod)
	l.enqueue(e)
}

func (l *Ledger) remove(e *entry) {
	delete(l.entries, e.pod)
	e.byAssumed.remove()
	e.byFlight.remove()
	e.bySettling.remove()
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
		e.overdue = false
	}
	e.account.shift(before, e.share())
	if e.absorbed {
		delete(e.account.ran, e)
	}
	if e.claim != Assumed {
		e.byAssumed.remove()
	}
	if !e.inFlight() || e.overdue {
		e.byFlight.remove()
	}
	l.enqueue(e)
}

// enqueue puts an entry into the queues of the limits that hold for it.
func (l *Ledger) enqueue(e *entry) {
	if e.claim == Assumed && e.byAssumed.queue == nil {
		l.assumed.push(&e.byAssumed)
	}
	if e.inFlight() && !e.overdue && e.byFlight.queue == nil {
		l.flight.push(&e.byFlight)
	}
}
