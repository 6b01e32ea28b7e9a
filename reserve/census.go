package reserve

// Claim says who vouches for a pod being on a node.
type Claim uint8

const (
	// Unclaimed: only a report listed the pod.
	Unclaimed Claim = iota
	// Assumed: a scheduler reserved room; the bind is on its way.
	Assumed
	// Bound: the API says so.
	Bound
)

// PodState is what a Ledger knows of a pod. A pod is in flight if it is claimed
// and not absorbed.
type PodState struct {
	Node   string
	Demand float64
	Claim  Claim
	// Absorbed: a report of Node listed the pod; it stays so until the pod is
	// deleted, even if later reports no longer list it.
	Absorbed bool
}

// Pod returns what the ledger knows of a pod.
func (l *Ledger) Pod(pod PodKey) (PodState, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[pod]
	if e == nil {
		return PodState{}, false
	}
	return PodState{Node: e.account.node, Demand: float64(e.demand) / demandUnit, Claim: e.claim, Absorbed: e.absorbed}, true
}

// Census counts a ledger's pods.
type Census struct {
	// Assumed and Bound are the pods in flight by claim.
	Assumed, Bound int
	// Absorbed are the claimed pods that a report has listed, Unclaimed those
	// that only a report has.
	Absorbed, Unclaimed int
}

// Census counts all pods; O(pods).
func (l *Ledger) Census() Census {
	var c Census
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		switch {
		case e.claim == Unclaimed:
			c.Unclaimed++
		case e.absorbed:
			c.Absorbed++
		case e.claim == Assumed:
			c.Assumed++
		default:
			c.Bound++
		}
	}
	return c
}
