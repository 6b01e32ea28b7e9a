package slot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// large is a testbed of n slots, four per node: a third with placeholders, a third with pods, a third
// claimed and empty; a few are inconsistent.
type large struct {
	config slot.Config
	nodes  []slot.Node
	pods   []slot.Pod
	claims []slot.Claim
}

func newLarge(b *testing.B, n int) *large {
	l := &large{}
	for i := range n / 4 {
		l.nodes = append(l.nodes, slot.Node{Name: fmt.Sprintf("node-%d.example.org", i), Label: fmt.Sprint(i), Positions: slot.First(4)})
	}
	l.config = slot.Config{UID: "590f6f41-4acd-4b6d", Size: "cpu=700m,memory=896Mi"}
	for i, id := range newOrder(b, l.nodes, 0).Slots() {
		p := slot.Pod{
			UID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", i), Namespace: "default", Name: slot.PlaceholderName(l.config.UID, id),
			Slot: id, Node: id.Node, Size: l.config.Size, Created: epoch,
		}
		owner := fmt.Sprint("job-", i/10)
		switch {
		case i%97 == 0: // its placeholder is missing
		case i%3 == 0:
			l.pods = append(l.pods, p)
		default:
			p.Role, p.Owner = slot.Occupant, owner
			if i%3 == 1 {
				l.pods = append(l.pods, p)
			}
			if len(l.claims) == 0 || l.claims[len(l.claims)-1].Owner != owner {
				l.claims = append(l.claims, slot.Claim{Owner: owner})
			}
			c := &l.claims[len(l.claims)-1]
			c.Slots = append(c.Slots, id)
		}
	}
	return l
}

func (l *large) table(b *testing.B) *slot.Table {
	t := slot.NewTable()
	config := l.config
	config.Order = newOrder(b, l.nodes, 0)
	t.Configure(config, epoch)
	if err := t.SetClaims(l.claims, epoch); err != nil {
		b.Fatal(err)
	}
	for _, p := range l.pods {
		if err := t.Observe(p, epoch); err != nil {
			b.Fatal(err)
		}
	}
	return t
}

// BenchmarkTable builds the whole table from the observed objects, lists it and returns the actions.
func BenchmarkTable(b *testing.B) {
	for _, n := range []int{100, 5000} {
		b.Run(fmt.Sprint("slots=", n), func(b *testing.B) {
			l := newLarge(b, n)
			var slots []slot.Slot
			var actions []slot.Action
			b.ReportAllocs()
			for b.Loop() {
				t := l.table(b)
				slots = t.Slots()
				actions, _ = t.Diff(epoch)
			}
			if len(slots) != n || len(actions) == 0 {
				b.Fatal(len(slots), len(actions))
			}
		})
	}
}

// BenchmarkEvent processes one pod that comes and goes, each with its actions.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{100, 5000} {
		b.Run(fmt.Sprint("slots=", n), func(b *testing.B) {
			t := newLarge(b, n).table(b)
			// Missing objects are created first, as in a testbed at rest.
			var actions []slot.Action
			actions, _ = t.Diff(epoch.Add(time.Hour))
			for _, a := range actions {
				p := slot.Pod{UID: a.Name, Name: a.Name, Slot: a.Slot, Node: a.Slot.Node, Size: a.Size, Created: epoch}
				if err := t.Observe(p, epoch); err != nil {
					b.Fatal(err)
				}
			}
			id := t.Free()[7]
			pod := slot.Pod{UID: "pod", Name: "pod", Role: slot.Occupant, Owner: "job", Slot: id, Node: id.Node, Created: epoch}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%2 == 0 {
					if err := t.Observe(pod, epoch); err != nil {
						b.Fatal(err)
					}
				} else {
					t.Forget(pod.UID, epoch)
				}
				_, _ = t.Diff(epoch)
			}
		})
	}
}

// BenchmarkClaims processes the claims of a testbed with ten slots claimed or released.
func BenchmarkClaims(b *testing.B) {
	for _, n := range []int{100, 5000} {
		b.Run(fmt.Sprint("slots=", n), func(b *testing.B) {
			l := newLarge(b, n)
			claims := l.claims[:min(5, len(l.claims))]
			l.claims = nil
			t := l.table(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := t.SetClaims(claims[:len(claims)-i%2], epoch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
