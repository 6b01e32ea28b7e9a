package reserve

// maxHold bounds what a pod may hold, like what one may ask for.
const maxHold = 1e6

// hold is room that is kept free on a node, in units of pods.
type hold struct {
	account *Account
	units   int64
}

// Hold keeps room for so many typical pods free on a node, in the name of a pod that
// runs and takes nothing: it is off the node's Free until Delete of the pod, and slow
// start knows nothing of it, for nobody waits for a report that lists the pod. It says
// whether that is news. Repeated, it changes how much is held or where. A pod is held
// for or claimed, never both: Hold ends a claim, Reserve and Bound end a hold. A number
// of pods that is not in (0, 1e6] is an ErrInvalid.
func (l *Ledger) Hold(node string, pod PodKey, pods float64) (changed bool, err error) {
	if !(pods > 0 && pods <= maxHold) {
		return false, refuse("pods", pods, "in (0, 1e6]")
	}
	units := max(whole(pods*demandUnit), 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if former, held := l.holds[pod]; held && former.account.node == node {
		former.account.hold(units - former.units)
		l.holds[pod] = hold{former.account, units}
		return former.units != units, nil
	}
	a := l.account(node)
	a.tracked++
	a.hold(units)
	l.unhold(pod)
	if e := l.entries[pod]; e != nil {
		l.remove(e)
	}
	if l.holds == nil {
		l.holds = make(map[PodKey]hold)
	}
	l.holds[pod] = hold{a, units}
	return true, nil
}

// unhold gives back what is held in the name of a pod, if anything is, and returns
// where that was; l.mu is held.
func (l *Ledger) unhold(pod PodKey) (node string) {
	former, held := l.holds[pod]
	if !held {
		return ""
	}
	delete(l.holds, pod)
	former.account.tracked--
	former.account.hold(-former.units)
	l.dropIdle(former.account)
	return former.account.node
}
