package reserve_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

// day is a cluster through which pods pass for 24 hours while events get lost:
// binds whose outcome is never told, deletions that only a later list shows,
// reports that come before the API's event or after the deletion.
type day struct {
	ledger *reserve.Ledger
	rng    *rand.Rand
	now    time.Time
	// live are the pods that the API has, by node; gone are deleted pods that a
	// node may still report for a moment.
	live map[string]map[reserve.PodKey]time.Time
	gone map[string][]reserve.PodKey
	next reserve.PodKey
	peak int
}

const dayNodes = 40

func (d *day) node(i int) string { return nodeAt(i%nodeCount) + string(rune('0'+i/nodeCount%10)) }

// arrive binds a new pod, unless its bind is lost.
func (d *day) arrive(t *testing.T) {
	d.next++
	node, pod := d.node(d.rng.IntN(dayNodes)), d.next
	must(t, d.ledger.Reserve(node, pod, 1, d.now))
	switch d.rng.IntN(20) {
	case 0: // the bind failed
		d.ledger.Unreserve(node, pod)
		return
	case 1: // nothing more is heard of it
		return
	case 2: // only PostBind
		d.ledger.Confirm(pod)
	default:
		_, err := d.ledger.Bound(node, pod, 1)
		must(t, err)
	}
	d.live[node][pod] = d.now.Add(time.Duration(d.rng.ExpFloat64() * float64(10*time.Minute)))
}

// leave deletes the node's pods whose time has come; one event in 50 is lost.
func (d *day) leave(node string) {
	d.gone[node] = d.gone[node][:0]
	for pod, end := range d.live[node] {
		if d.now.Before(end) {
			continue
		}
		delete(d.live[node], pod)
		d.gone[node] = append(d.gone[node], pod)
		if d.rng.IntN(50) > 0 {
			d.ledger.Delete(pod)
		}
	}
	slices.Sort(d.gone[node])
}

// report lists what the node runs, at times what it ran until just now.
func (d *day) report(node string) {
	var list []reserve.PodKey
	if d.rng.IntN(4) == 0 {
		list = append(list, d.gone[node]...)
	}
	for pod := range d.live[node] {
		list = append(list, pod)
	}
	d.ledger.Absorb(node, list, d.now)
}

// relist is what an informer does after a broken watch.
func (d *day) relist(t *testing.T) {
	var bound []reserve.BoundPod
	for node, pods := range d.live {
		for pod := range pods {
			bound = append(bound, reserve.BoundPod{Node: node, Pod: pod, Demand: 1})
		}
	}
	_, _, err := d.ledger.Rebuild(bound)
	must(t, err)
}

func total(c reserve.Census) int { return c.Assumed + c.Bound + c.Absorbed + c.Unclaimed }

// TestADayLeavesNothing: after 24 hours of churn the ledger is as large as the
// cluster, not as its history, and empty when the cluster is.
func TestADayLeavesNothing(t *testing.T) {
	d := &day{ledger: &reserve.Ledger{}, rng: rand.New(rand.NewPCG(24, 3600)), now: epoch,
		live: make(map[string]map[reserve.PodKey]time.Time), gone: make(map[string][]reserve.PodKey)}
	for i := range dayNodes {
		d.live[d.node(i)] = make(map[reserve.PodKey]time.Time)
	}
	for second := range 24 * 3600 {
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
	// 600 pods live at a time, and a lost bind or deletion is remembered for at
	// most half an hour: of 1800 arrivals 90 and 36.
	if d.peak > 1500 {
		t.Errorf("the ledger grew to %d pods", d.peak)
	}
	for node := range d.live {
		clear(d.live[node])
	}
	d.relist(t)
	d.ledger.Expire(d.now.Add(time.Hour))
	if got := d.ledger.Census(); total(got) != 0 {
		t.Errorf("left over: %+v", got)
	}
	for i := range dayNodes {
		if node := d.node(i); d.ledger.InFlight(node) != 0 || !d.ledger.DropNode(node) {
			t.Errorf("node %s still holds pods", node)
		}
	}
}
