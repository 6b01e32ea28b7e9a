package reserve

import "time"

// maxHold bounds what a pod may hold, like what one may ask for.
const maxHold = 1e6

// Hold keeps room for so many typical pods free on a node, in the name of a pod that
// runs and takes nothing: Free leaves it out until Delete of the pod, and slow
// start ignores it because no report will list the pod. It reports
// whether that is a change. Repeated, it changes how much is held or where. A pod is held
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
