package reserve

import "slices"

// PodState is what a Ledger knows of a claimed pod. It is in flight if it is not
// absorbed.
type PodState struct {
	Node     string
	Demand   Demand
	Claim    Claim
	Progress Progress
	// Absorbed: a report of Node listed the pod, or the API shows that it has run;
	// see [Ledger.Absorb] for how long it stays so.
	Absorbed bool
	// Trickled: the pod was overdue and admitted without room.
	Trickled bool
}

// Pod returns what the ledger knows of a claimed pod.
func (l *Ledger) Pod(pod PodKey) (PodState, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil {
		return PodState{}, false
	}
	return PodState{
		Node: e.account.node, Demand: e.asks.demand(), Claim: e.claim, Progress: e.progress, Absorbed: !e.inFlight(),
		Trickled: e.trickled,
	}, true
}

// Census counts a ledger's pods.
type Census struct {
	// Assumed and Bound are the pods in flight by claim.
	Assumed, Bound int
	// Absorbed are the claimed pods that are not in flight, Unclaimed those that
	// only a report lists or has listed.
	Absorbed, Unclaimed int
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
		case !e.inFlight():
			c.Absorbed++
		case e.claim == Assumed:
			c.Assumed++
		default:
			c.Bound++
		}
	}
	c.Held = len(l.holds)
	l.directory.RLock()
	defer l.directory.RUnlock()
	for _, a := range l.accounts {
		c.Unclaimed += l.unclaimed(a)
	}
	return c
}

// unclaimed counts the pods that a node lists or has listed and nobody has
// claimed.
func (l *Ledger) unclaimed(a *Account) int {
	var pods []PodKey
	for _, u := range a.unlisted {
		pods = append(pods, u.pod)
	}
	if listed := a.listing.Load(); listed != nil {
		pods = append(pods, listed.pods...)
	}
	slices.Sort(pods)
	count := 0
	for _, pod := range slices.Compact(pods) {
		if l.entries[pod] == nil {
			count++
		}
	}
	return count
}
