package reserve_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

// day is a cluster with 24 hours of pods while events get lost: binds without an outcome, deletions
// that only a later list shows, reports before the API's event or after the deletion.
type day struct {
	ledger *reserve.Ledger
	rng    *rand.Rand
	now    time.Time
	// live are the API's pods, by node; gone are deleted pods that a node may still report briefly.
	live map[string]map[reserve.PodKey]time.Time
	gone map[string][]reserve.PodKey
	// bound are the pods whose bind, and no deletion, the API has shown.
	bound map[reserve.PodKey]bool
	next  reserve.PodKey
	peak  int
}

const dayNodes = 40

func (d *day) node(i int) string { return nodeAt(i%nodeCount) + string(rune('0'+i/nodeCount%10)) }

// arrive binds a new pod, unless its bind is lost.
func (d *day) arrive(t *testing.T) {
	d.next++
	node, pod := d.node(d.rng.IntN(dayNodes)), d.next
	must(t, d.ledger.Reserve(node, pod, one, d.now))
	switch d.rng.IntN(20) {
	case 0: // the bind failed
		d.ledger.Unreserve(node, pod)
		return
	case 1: // no further event of it arrives
		return
	case 2: // only PostBind
		d.ledger.MarkBound(pod)
	default:
		d.bind(t, node, pod)
	}
	d.bound[pod] = true
	d.live[node][pod] = d.now.Add(time.Duration(d.rng.ExpFloat64() * float64(10*time.Minute)))
}

// leave deletes the node's pods whose time is over; one event in 50 is lost.
func (d *day) leave(node string) {
	d.gone[node] = d.gone[node][:0]
	for pod, end := range d.live[node] {
		if d.now.Before(end) {
			continue
		}
		delete(d.live[node], pod)
		d.gone[node] = append(d.gone[node], pod)
		if d.rng.IntN(50) > 0 {
			d.delete(pod)
		}
	}
	slices.Sort(d.gone[node])
}

// report lists the pods that the node runs, sometimes including those that just ended.
func (d *day) report(node string) {
	var list []reserve.PodKey
	if d.rng.IntN(4) == 0 {
		list = append(list, d.gone[node]...)
	}
	for pod := range d.live[node] {
		list = append(list, pod)
	}
	d.ledger.Confirm(node, 1, list, d.now)
}

// relist does what an informer does after a broken watch: it delivers all existing pods, and the
// deletion of known pods that no longer exist.
func (d *day) relist(t *testing.T) {
	for pod := range d.bound {
		if node, ok := d.nodeOf(pod); !ok {
			d.delete(pod)
		} else {
			d.bind(t, node, pod)
		}
	}
}

func (d *day) nodeOf(pod reserve.PodKey) (string, bool) {
	for node, pods := range d.live {
		if _, ok := pods[pod]; ok {
			return node, true
		}
	}
	return "", false
}

func (d *day) bind(t *testing.T, node string, pod reserve.PodKey) {
	d.bound[pod] = true
	_, err := d.ledger.Bound(node, pod, one, d.now)
	must(t, err)
}

func (d *day) delete(pod reserve.PodKey) {
	delete(d.bound, pod)
	d.ledger.Delete(pod, d.now)
}

func total(c reserve.Census) int { return c.Assumed + c.Bound + c.Confirmed + c.Unclaimed }

// TestADayLeavesNothing: after 24 hours of churn the ledger is as large as the cluster, not as its
// history, and empty after all pods are gone.
func TestADayLeavesNothing(t *testing.T) {
	d := &day{ledger: &reserve.Ledger{}, rng: rand.New(rand.NewPCG(24, 3600)), now: epoch,
		live: make(map[string]map[reserve.PodKey]time.Time), gone: make(map[string][]reserve.PodKey), bound: make(map[reserve.PodKey]bool)}
	var accounts []*reserve.Account
	for i := range dayNodes {
		d.live[d.node(i)] = make(map[reserve.PodKey]time.Time)
		accounts = append(accounts, d.ledger.Account(d.node(i)))
	}
	hours := 24
	if testing.Short() {
		hours = 3
	}
	for second := range hours * 3600 {
		d.now = epoch.Add(time.Duration(second) * time.Second)
		d.arrive(t)
		node := d.node(second)
		d.leave(node)
		d.report(node)
		d.ledger.Expire(d.now)
		if second%1800 == 0 {
			d.peak = max(d.peak, total(d.ledger.Census()))
			d.relist(t)
		}
	}
	// 600 pods live at a time, and a lost bind or deletion is remembered for at most half an hour: of
	// 1800 arrivals 90 and 36.
	if d.peak > 1500 {
		t.Errorf("the ledger grew to %d pods", d.peak)
	}
	for node := range d.live {
		clear(d.live[node])
		d.gone[node] = nil
		d.report(node)
	}
	d.relist(t)
	d.ledger.Expire(d.now.Add(time.Hour))
	for i, a := range accounts {
		if a.Flight() != (reserve.Flight{}) || a.Confirmed() != 0 {
			t.Errorf("node %s still holds pods: %+v, %d confirmed", d.node(i), a.Flight(), a.Confirmed())
		}
	}
	if got := d.ledger.Census(); total(got) != 0 {
		t.Errorf("got remaining %+v", got)
	}
}
