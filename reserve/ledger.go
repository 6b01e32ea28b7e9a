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
// update is O(1), but Absorb, which is O(pods listed), Expire, O(pods expired),
// and Rebuild. The zero value is ready, with default limits. Safe for
// concurrent use; the caller serialises Admit with Reserve for one node.
type Ledger struct {
	ttl, linger time.Duration

	mu      sync.Mutex
	entries map[PodKey]*entry
	// assumed and unclaimed hold the entries that a limit watches, oldest first.
	assumed, unclaimed queue

	directory sync.RWMutex
	accounts  map[string]*Account
}

// entry is one pod. It is in a queue while its claim is Assumed or Unclaimed.
type entry struct {
	pod        PodKey
	account    *Account
	demand     int64 // millionths of a pod
	claim      Claim
	absorbed   bool
	since      time.Time // of the claim Assumed; last listed while Unclaimed
	prev, next *entry
	queue      *queue
}

func (e *entry) inFlight() bool { return e.claim != Unclaimed && !e.absorbed }

// NewLedger returns an empty ledger, or the *FieldError of c.Validate.
func NewLedger(c LedgerConfig) (*Ledger, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Ledger{ttl: c.TTL, linger: c.Linger}, nil
}

// Account returns the node's account, made if need be. It stays valid until
// DropNode.
func (l *Ledger) Account(node string) *Account {
	l.directory.RLock()
	a := l.accounts[node]
	l.directory.RUnlock()
	if a != nil {
		return a
	}
	l.directory.Lock()
	defer l.directory.Unlock()
	if a = l.accounts[node]; a == nil {
		if l.accounts == nil {
			l.accounts = make(map[string]*Account)
		}
		a = &Account{node: node}
		l.accounts[node] = a
	}
	return a
}

// DropNode forgets a node's account if no pod is known on it, and says whether
// it did.
func (l *Ledger) DropNode(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.directory.Lock()
	defer l.directory.Unlock()
	if a := l.accounts[node]; a == nil || a.tracked > 0 {
		return false
	}
	delete(l.accounts, node)
	return true
}

// InFlight returns the summed demand of the node's pods in flight, in pods; 0
// for a node it has not heard of. It allocates nothing.
func (l *Ledger) InFlight(node string) float64 {
	l.directory.RLock()
	a := l.accounts[node]
	l.directory.RUnlock()
	if a == nil {
		return 0
	}
	return a.InFlight()
}

// Reserve puts a pod in flight to a node, assumed until Confirm or Bound.
// demand is in pods, in (0, 10⁶], otherwise a *FieldError. Repeating it renews
// the time limit; for another node it moves the pod. A pod that the API says is
// on this node stays as it is, one on another node is refused with
// ErrBoundElsewhere.
func (l *Ledger) Reserve(node string, pod PodKey, demand float64, now time.Time) error {
	units, err := toUnits(demand)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	account := l.Account(node)
	e := l.entries[pod]
	if e != nil && e.claim == Bound {
		if e.account != account {
			return fmt.Errorf("reserve: pod %016x for node %s: %w: %s", uint64(pod), node, ErrBoundElsewhere, e.account.node)
		}
		return nil
	}
	if e != nil && e.claim == Assumed && e.account == account && e.absorbed {
		l.claim(e, Assumed, now)
		return nil
	}
	if e != nil {
		l.remove(e)
	}
	l.add(&entry{pod: pod, account: account, demand: units, claim: Assumed, since: now})
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
	l.claim(e, Bound, time.Time{})
	return true
}

// Bound records that the API shows a live pod on a node, whoever bound it. An
// assumed pod keeps the demand it was reserved at; an absorbed one stays
// absorbed; any other becomes a pod in flight. It reports whether the node's
// pods in flight changed, or a *FieldError for a demand out of (0, 10⁶].
func (l *Ledger) Bound(node string, pod PodKey, demand float64) (bool, error) {
	units, err := toUnits(demand)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound(l.Account(node), pod, units), nil
}

func (l *Ledger) bound(account *Account, pod PodKey, units int64) bool {
	e := l.entries[pod]
	if e != nil && e.account == account {
		if e.claim == Unclaimed {
			e.demand = units
		}
		l.claim(e, Bound, time.Time{})
		return false
	}
	if e != nil {
		l.remove(e)
	}
	l.add(&entry{pod: pod, account: account, demand: units, claim: Bound})
	return true
}

// Settle takes a claimed pod out of flight because the API shows that a
// container of it has already run and ended, so that no report may ever list
// it. It says whether the pod was in flight.
func (l *Ledger) Settle(pod PodKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil || !e.inFlight() {
		return false
	}
	l.absorb(e)
	return true
}

// Delete forgets a pod that was deleted or is terminal. It returns the node it
// was on and whether the pod was in flight; the node is empty if the pod was
// not known.
func (l *Ledger) Delete(pod PodKey) (node string, inFlight bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil {
		return "", false
	}
	node, inFlight = e.account.node, e.inFlight()
	l.remove(e)
	return node, inFlight
}

// Absorb takes the pods that a node's report lists out of flight, and returns
// how many left. They stay absorbed until Delete, so that a pod whose container
// ended before its API object frees its slot. Listed pods that the API has not
// shown are remembered for Linger, so that a late event does not put them in
// flight. A pod claimed for another node is none of the reporting node's
// business.
func (l *Ledger) Absorb(node string, pods []PodKey, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	account := l.Account(node)
	left := 0
	for _, pod := range pods {
		e := l.entries[pod]
		switch {
		case e == nil:
			l.add(&entry{pod: pod, account: account, claim: Unclaimed, absorbed: true, since: now})
		case e.claim == Unclaimed:
			e.account.tracked--
			e.account = account
			account.tracked++
			l.claim(e, Unclaimed, now)
		case e.account == account && !e.absorbed:
			l.absorb(e)
			left++
		}
	}
	return left
}

// Expire drops the assumed pods whose bind has not come for TTL, returning the
// node of each, and the unclaimed ones not listed for Linger. The times given
// to one ledger should not run backwards; if they do, limits are met late, not
// early.
func (l *Ledger) Expire(now time.Time) []string {
	ttl, linger := l.ttl, l.linger
	if ttl == 0 {
		ttl = defaultTTL
	}
	if linger == 0 {
		linger = defaultLinger
	}
	var nodes []string
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.assumed.first; e != nil && now.Sub(e.since) >= ttl; e = l.assumed.first {
		nodes = append(nodes, e.account.node)
		l.remove(e)
	}
	for e := l.unclaimed.first; e != nil && now.Sub(e.since) >= linger; e = l.unclaimed.first {
		l.remove(e)
	}
	return nodes
}

// BoundPod is one live, bound pod of the API, for Rebuild.
type BoundPod struct {
	Node   string
	Pod    PodKey
	Demand float64
}

// Rebuild makes the ledger agree with a full list of the API's live bound pods,
// as after a restart: bound pods not listed are dropped, listed ones treated as
// by Bound. Assumed pods and what reports have absorbed are kept. It returns
// how many pods entered or left flight. If a demand is out of range nothing
// changes.
func (l *Ledger) Rebuild(pods []BoundPod) (entered, left int, err error) {
	listed := make(map[PodKey]int64, len(pods))
	for _, p := range pods {
		units, err := toUnits(p.Demand)
		if err != nil {
			return 0, 0, err
		}
		listed[p.Pod] = units
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for pod, e := range l.entries {
		if _, ok := listed[pod]; !ok && e.claim == Bound {
			if e.inFlight() {
				left++
			}
			l.remove(e)
		}
	}
	for _, p := range pods {
		if l.bound(l.Account(p.Node), p.Pod, listed[p.Pod]) {
			entered++
		}
	}
	return entered, left, nil
}

// add files a new entry; the pod must not have one.
func (l *Ledger) add(e *entry) {
	if l.entries == nil {
		l.entries = make(map[PodKey]*entry)
	}
	l.entries[e.pod] = e
	e.account.tracked++
	if e.inFlight() {
		e.account.inflight.Add(e.demand)
		e.account.pods.Add(1)
	}
	l.enqueue(e)
}

func (l *Ledger) remove(e *entry) {
	delete(l.entries, e.pod)
	e.account.tracked--
	if e.inFlight() {
		e.account.inflight.Add(-e.demand)
		e.account.pods.Add(-1)
	}
	e.dequeue()
}

// absorb takes an entry in flight out of it.
func (l *Ledger) absorb(e *entry) {
	e.absorbed = true
	e.account.inflight.Add(-e.demand)
	e.account.pods.Add(-1)
}

// claim changes who vouches for an entry; in flight or not, it stays so, for an
// unclaimed entry is absorbed.
func (l *Ledger) claim(e *entry, c Claim, since time.Time) {
	e.dequeue()
	e.claim, e.since = c, since
	l.enqueue(e)
}

func (l *Ledger) enqueue(e *entry) {
	switch e.claim {
	case Assumed:
		l.assumed.push(e)
	case Unclaimed:
		l.unclaimed.push(e)
	}
}
