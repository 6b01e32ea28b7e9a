package slot_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// naive is a Table that keeps its inputs and recomputes everything each time.
type naive struct {
	config slot.Config
	pods   map[string]slot.Pod
	claims []slot.Claim
	// empty is since when a slot has had no pod of its own.
	empty map[slot.ID]time.Time
}

func (n *naive) live(id slot.ID) []slot.Pod {
	owner, _, _ := n.claim(id)
	var pods []slot.Pod
	for _, p := range n.pods {
		if p.Role == slot.Occupant && p.Slot == id && p.Node != "" && p.Node == id.Node && !p.Terminal {
			pods = append(pods, p)
		}
	}
	// Least preferred last: an owner's pod, one that stays, the oldest.
	rank := func(p slot.Pod) string {
		key := ""
		for _, bad := range []bool{p.Owner != owner, p.Deleting} {
			key += map[bool]string{false: "0", true: "1"}[bad]
		}
		return fmt.Sprintf("%s %020d %s", key, p.Created.UnixNano(), p.UID)
	}
	slices.SortFunc(pods, func(a, b slot.Pod) int { return cmp.Compare(rank(a), rank(b)) })
	return pods
}

func (n *naive) placeholders(id slot.ID) []slot.Pod {
	var pods []slot.Pod
	for _, p := range n.pods {
		if p.Role == slot.Placeholder && p.Slot == id {
			pods = append(pods, p)
		}
	}
	rank := func(p slot.Pod) string {
		key := ""
		for _, bad := range []bool{n.unfit(p) != "", p.Deleting, p.Node == ""} {
			key += map[bool]string{false: "0", true: "1"}[bad]
		}
		return fmt.Sprintf("%s %020d %s", key, p.Created.UnixNano(), p.UID)
	}
	slices.SortFunc(pods, func(a, b slot.Pod) int { return cmp.Compare(rank(a), rank(b)) })
	return pods
}

func (n *naive) claim(id slot.ID) (owner, size string, claimed bool) {
	for _, c := range n.claims {
		if slices.Contains(c.Slots, id) {
			return c.Owner, c.Size, true
		}
	}
	return "", "", false
}

func (n *naive) unfit(g slot.Pod) string {
	_, _, claimed := n.claim(g.Slot)
	switch {
	case g.Terminal:
		return "ended"
	case g.Node != "" && g.Node != g.Slot.Node:
		return "moved"
	case !claimed && g.Size != n.config.Size:
		return "resized"
	}
	return ""
}

func (n *naive) wanted() []slot.ID {
	if n.config.Order == nil {
		return nil
	}
	return n.config.Order.Slots()
}

// all returns the wanted slots, then those with remaining pods.
func (n *naive) all() (ids []slot.ID, wanted int) {
	ids = n.wanted()
	wanted = len(ids)
	var rest []slot.ID
	add := func(id slot.ID) {
		if !slices.Contains(ids, id) && !slices.Contains(rest, id) {
			rest = append(rest, id)
		}
	}
	for _, c := range n.claims {
		for _, id := range c.Slots {
			add(id)
		}
	}
	for _, p := range n.pods {
		if p.Role == slot.Placeholder && p.Slot != (slot.ID{}) || p.Role == slot.Occupant && len(n.live(p.Slot)) > 0 {
			add(p.Slot)
		}
	}
	slices.SortFunc(rest, slot.ID.Compare)
	return append(ids, rest...), wanted
}

// happened records which slots are empty now.
func (n *naive) happened(now time.Time) {
	ids, _ := n.all()
	was := n.empty
	n.empty = make(map[slot.ID]time.Time)
	for _, id := range ids {
		if len(n.placeholders(id)) == 0 && len(n.live(id)) == 0 {
			n.empty[id] = now
			if since, ok := was[id]; ok {
				n.empty[id] = since
			}
		}
	}
}

func (n *naive) slots() []slot.Slot {
	ids, wanted := n.all()
	var out []slot.Slot
	for i, id := range ids {
		owner, _, claimed := n.claim(id)
		live, placeholders := n.live(id), n.placeholders(id)
		s := slot.Slot{ID: id, Index: len(out), Owner: owner, NodeID: -1}
		if n.config.Order != nil {
			if rank, ok := n.config.Order.NodeID(id.Node); ok {
				s.NodeID = rank
			}
		}
		switch {
		case i >= wanted && !claimed && len(live) == 0:
			continue
		case i >= wanted:
			s.State = slot.Retiring
		case len(live) > 0:
			s.State = slot.Occupied
		case claimed:
			s.State = slot.Reserved
		case !n.config.Idle && len(placeholders) > 0 && n.unfit(placeholders[0]) == "" && !placeholders[0].Deleting && placeholders[0].Node != "":
			s.State = slot.Free
		}
		if len(live) > 0 {
			s.Namespace, s.Pod, s.PodUID = live[0].Namespace, live[0].Name, live[0].UID
		}
		out = append(out, s)
	}
	return out
}

func (n *naive) diff(now time.Time) ([]string, time.Time) {
	ids, wanted := n.all()
	var out []string
	var again time.Time
	for i, id := range ids {
		_, size, claimed := n.claim(id)
		live, placeholders := n.live(id), n.placeholders(id)
		for _, p := range live[min(1, len(live)):] {
			if !p.Deleting {
				out = append(out, fmt.Sprint("delete pod ", p.UID, " double"))
			}
		}
		hauntable := len(live) == 0 && (claimed || i < wanted && !n.config.Idle)
		for k, g := range placeholders {
			why := n.unfit(g)
			switch {
			case why != "":
			case len(live) > 0:
				why = "entered"
			case !hauntable:
				why = "unwanted"
			case k > 0:
				why = "double"
			}
			if why != "" && !g.Deleting {
				out = append(out, fmt.Sprint("delete placeholder ", g.UID, " ", why))
			}
		}
		if len(placeholders) > 0 || !hauntable || i >= wanted {
			continue
		}
		if due := n.empty[id].Add(2 * time.Second); claimed && now.Before(due) {
			if again.IsZero() || due.Before(again) {
				again = due
			}
			continue
		}
		if size == "" || !claimed {
			size = n.config.Size
		}
		out = append(out, fmt.Sprint("create placeholder ", slot.PlaceholderName(n.config.UID, id), " at ", id, " of ", size))
	}
	return out, again
}

func spell(actions []slot.Action) []string {
	var out []string
	for _, a := range actions {
		if a.Op == slot.CreatePlaceholder {
			out = append(out, fmt.Sprint(a.Op, " ", a.Name, " at ", a.Slot, " of ", a.Size))
		} else {
			out = append(out, fmt.Sprint(a.Op, " ", a.UID, " ", a.Reason))
		}
	}
	return out
}

// TestTableModel compares a Table with the naive one after each of many random events.
func TestTableModel(t *testing.T) {
	for seed := range uint64(60) {
		model(t, rand.New(rand.NewPCG(seed, 7)), 150)
	}
}

func model(t *testing.T, rng *rand.Rand, steps int) {
	t.Helper()
	table := slot.NewTable()
	twin := &naive{pods: make(map[string]slot.Pod), empty: make(map[slot.ID]time.Time)}
	now := epoch
	id := func() slot.ID {
		return slot.ID{Node: fmt.Sprint("n", rng.IntN(3)), Position: rng.IntN(3)}
	}
	var slots []slot.Slot
	var free []slot.ID
	var actions []slot.Action
	for range steps {
		now = now.Add(time.Duration(rng.IntN(1500)) * time.Millisecond)
		switch rng.IntN(8) {
		case 0:
			var nodes []slot.Node
			for i := range 3 {
				if rng.IntN(4) > 0 {
					nodes = append(nodes, slot.Node{Name: fmt.Sprint("n", i), Label: fmt.Sprint(rng.IntN(3)), Positions: slot.First(rng.IntN(4))})
				}
			}
			c := slot.Config{UID: "0123abcd-", Size: fmt.Sprint(rng.IntN(2)), Idle: rng.IntN(6) == 0}
			if rng.IntN(6) > 0 {
				c.Order = newOrder(t, nodes, 0)
			}
			table.Configure(c, now)
			twin.config = c
		case 1:
			var claims []slot.Claim
			used := make(map[slot.ID]bool)
			for i := range rng.IntN(4) {
				c := slot.Claim{Owner: fmt.Sprint("job", i)}
				if rng.IntN(2) == 0 {
					c.Size = "2"
				}
				for range rng.IntN(3) {
					if s := id(); !used[s] {
						used[s] = true
						c.Slots = append(c.Slots, s)
					}
				}
				claims = append(claims, c)
			}
			if err := table.SetClaims(claims, now); err != nil {
				t.Fatal(err)
			}
			twin.claims = claims
		case 2:
			uid := fmt.Sprint("pod", rng.IntN(14))
			table.Forget(uid, now)
			delete(twin.pods, uid)
		default:
			p := slot.Pod{
				UID: fmt.Sprint("pod", rng.IntN(14)), Namespace: "ns", Slot: id(), Owner: fmt.Sprint("job", rng.IntN(4)),
				Size: fmt.Sprint(rng.IntN(2)), Created: epoch.Add(time.Duration(rng.IntN(5)) * time.Second),
				Terminal: rng.IntN(6) == 0, Deleting: rng.IntN(6) == 0,
			}
			if old, ok := twin.pods[p.UID]; ok && rng.IntN(3) > 0 {
				p.Slot = old.Slot
			}
			p.Name = "name of " + p.UID
			if p.UID > "pod5" {
				p.Role = slot.Occupant
			}
			switch rng.IntN(8) {
			case 0:
				p.Node = "elsewhere"
			case 1:
			default:
				p.Node = p.Slot.Node
			}
			if rng.IntN(10) == 0 {
				p.Slot = slot.ID{}
			}
			if err := table.Observe(p, now); err != nil {
				t.Fatal(err)
			}
			twin.pods[p.UID] = p
		}
		twin.happened(now)
		want := twin.slots()
		slots = table.Slots()
		if diff := gocmp.Diff(want, slices.Clip(slots), equalEmpty()); diff != "" {
			t.Fatal(diff)
		}
		var counts slot.Counts
		var wantFree []slot.ID
		for _, s := range want {
			counts[s.State]++
			if s.State == slot.Free {
				wantFree = append(wantFree, s.ID)
			}
		}
		if free = table.Free(); !slices.Equal(free, wantFree) || table.Counts() != counts {
			t.Fatalf("free %v, counts %+v; want %v, %+v", free, table.Counts(), wantFree, counts)
		}
		wantDiff, wantAgain := twin.diff(now)
		for range 2 {
			var again time.Time
			actions, again = table.Diff(now)
			if got := spell(actions); !slices.Equal(got, wantDiff) || !again.Equal(wantAgain) {
				t.Fatalf("diff, again at %v:\n got %v\nwant %v, again at %v", again, got, wantDiff, wantAgain)
			}
		}
	}
}

func equalEmpty() gocmp.Option {
	return gocmp.FilterValues(func(a, b []slot.Slot) bool { return len(a) == 0 && len(b) == 0 }, gocmp.Ignore())
}
