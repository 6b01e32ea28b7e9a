package reserve

import "slices"

// PodState is what a Ledger knows of a claimed pod. It is in flight if it is not
// confirmed.
type PodState struct {
	Node     string
	Demand   Demand
	Claim    Claim
	Progress Progress
	// Confirmed: a report of Node listed the pod, or the API shows that it has run;
	// see [Ledger.Confirm] for how long it stays so.
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
	var pods []PodKey
	for _, u := range a.unlisted {
		pods = append(pods, u.pod)
	}
	if a.listing != nil {
		pods = append(pods, a.listing.pods...)
	}
	slices.Sort(pods)
	pods = slices.DeleteFunc(slices.Compact(pods), func(pod PodKey) bool { return l.claimed(pod) != nil })
	return len(pods)
}
