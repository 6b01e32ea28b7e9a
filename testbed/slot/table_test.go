package slot_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// story drives a Table, and records its answers.
type story struct {
	t     *testing.T
	table *slot.Table
	now   time.Time
	trace strings.Builder
}

func (s *story) after(d time.Duration, what string) {
	s.now = s.now.Add(d)
	fmt.Fprintf(&s.trace, "%6.1fs %s\n", s.now.Sub(epoch).Seconds(), what)
	for _, v := range s.table.Slots() {
		fmt.Fprintf(&s.trace, "          %d %v %v", v.Index, v.ID, v.State)
		if v.Owner != "" {
			fmt.Fprintf(&s.trace, " for %s", v.Owner)
		}
		if v.Pod != "" {
			fmt.Fprintf(&s.trace, " with %s", v.Pod)
		}
		s.trace.WriteString("\n")
	}
	actions, again := s.table.Diff(s.now)
	for _, a := range actions {
		fmt.Fprintf(&s.trace, "       => %v (%v) %v %s", a.Op, a.Reason, a.Slot, a.Name)
		if a.Size != "" {
			fmt.Fprintf(&s.trace, " of %s", a.Size)
		}
		s.trace.WriteString("\n")
	}
	if !again.IsZero() {
		fmt.Fprintf(&s.trace, "       again at %.1fs\n", again.Sub(epoch).Seconds())
	}
}

func (s *story) configure(size string, idle bool, nodes ...slot.Node) {
	s.t.Helper()
	s.table.Configure(slot.Config{UID: "590f6f41-", Order: newOrder(s.t, nodes, 0), Size: size, Idle: idle}, s.now)
}

func (s *story) placeholder(node string, position int, bound bool, size string) {
	s.t.Helper()
	id := slot.ID{Node: node, Position: position}
	p := slot.Pod{UID: "g-" + id.String(), Namespace: "lab", Name: slot.PlaceholderName("590f6f41-", id), Slot: id, Size: size, Created: s.now}
	if bound {
		p.Node = node
	}
	if err := s.table.Observe(p, s.now); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) pod(name, owner, node string, position int) {
	s.t.Helper()
	id := slot.ID{Node: node, Position: position}
	p := slot.Pod{UID: name, Namespace: "lab", Name: name, Role: slot.Occupant, Owner: owner, Slot: id, Node: node, Created: s.now}
	if err := s.table.Observe(p, s.now); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) claims(claims ...slot.Claim) {
	s.t.Helper()
	if err := s.table.SetClaims(claims, s.now); err != nil {
		s.t.Fatal(err)
	}
}

// TestGolden records a Table's answers during the life of a small testbed.
func TestGolden(t *testing.T) {
	s := &story{t: t, table: slot.NewTable(), now: epoch}
	a, b := slot.Node{Name: "a", Label: "1", Positions: slot.First(2)}, slot.Node{Name: "b", Label: "2", Positions: slot.First(1)}
	s.configure("1cpu", false, b, a)
	s.after(0, "a testbed of two nodes")
	for _, at := range []slot.ID{{Node: "a"}, {Node: "a", Position: 1}, {Node: "b"}} {
		s.placeholder(at.Node, at.Position, at.Node == "a", "1cpu")
	}
	s.after(time.Second, "placeholders are there, one not bound")
	s.placeholder("b", 0, true, "1cpu")
	s.claims(slot.Claim{Owner: "job", Slots: []slot.ID{{Node: "a"}, {Node: "b"}}, Size: "1cpu"})
	s.after(time.Second, "a job claims a/0 and b/0")
	s.table.Forget("g-a/0", s.now)
	s.after(time.Second, "the placeholder in a/0 makes room")
	s.pod("job-1", "job", "a", 0)
	s.after(time.Second, "and the pod comes")
	s.table.Forget("g-b/0", s.now)
	s.after(0, "the placeholder in b/0 is evicted")
	s.after(2*time.Second, "no pod has come for two seconds")
	s.configure("2cpu", false, b, a)
	s.after(time.Second, "slots become larger: a free one at once, a claimed one not")
	s.table.Forget("g-a/1", s.now)
	s.after(0, "the smaller placeholder is gone")
	s.placeholder("a", 1, true, "2cpu")
	s.pod("job-2", "job", "b", 0)
	s.pod("job-3", "other", "b", 0)
	s.after(time.Second, "two pods in one slot")
	s.configure("2cpu", false, a)
	s.after(time.Second, "b loses its label")
	s.claims()
	s.table.Forget("job-1", s.now)
	s.table.Forget("job-2", s.now)
	s.table.Forget("job-3", s.now)
	s.after(time.Second, "the job ends")
	s.configure("2cpu", true, a)
	s.after(time.Minute, "nobody has used it for long")
	s.configure("2cpu", false)
	s.after(time.Minute, "the testbed is to go")

	path := filepath.Join("testdata", "table.golden")
	if *update {
		if err := os.WriteFile(path, []byte(s.trace.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), s.trace.String()); diff != "" {
		t.Error(diff)
	}
}

// A refused input changes nothing.
func TestTableRefuses(t *testing.T) {
	s := &story{t: t, table: slot.NewTable(), now: epoch}
	s.configure("1", false, slot.Node{Name: "a", Positions: slot.First(2)})
	s.placeholder("a", 0, true, "1")
	before := s.table.Slots()
	refused(t, s.table.SetClaims([]slot.Claim{{Owner: "x", Slots: []slot.ID{{Node: "a"}}}, {Owner: "y", Slots: []slot.ID{{Node: "a"}}}}, epoch), "Claim.Slots")
	refused(t, s.table.SetClaims([]slot.Claim{{Owner: "x", Slots: []slot.ID{{Node: "a"}}}, {}}, epoch), "Claim.Owner")
	refused(t, s.table.Observe(slot.Pod{Slot: slot.ID{Node: "a"}}, epoch), "Pod.UID")
	if diff := cmp.Diff(before, s.table.Slots()); diff != "" {
		t.Error(diff)
	}
}

// A claimed slot stays empty for a while, and the zero Config has no slots.
func TestTableConfig(t *testing.T) {
	table := slot.NewTable()
	id := slot.ID{Node: "a"}
	config := slot.Config{Order: newOrder(t, []slot.Node{{Name: "a", Positions: slot.First(1)}}, 0)}
	if err := table.SetClaims([]slot.Claim{{Owner: "x", Slots: []slot.ID{id}}}, epoch); err != nil {
		t.Fatal(err)
	}
	table.Configure(config, epoch)
	if actions, again := table.Diff(epoch.Add(time.Second)); len(actions) != 0 || !again.Equal(epoch.Add(2*time.Second)) {
		t.Errorf("got %v, again at %v", actions, again)
	}
	if actions, again := table.Diff(epoch.Add(2 * time.Second)); len(actions) != 1 || !again.IsZero() {
		t.Errorf("got %v, again at %v", actions, again)
	}
	table.Configure(slot.Config{}, epoch)
	if s := table.Slots(); len(s) != 1 || s[0].ID != id || s[0].State != slot.Retiring || s[0].NodeID != -1 {
		t.Errorf("%+v", s)
	}
	if err := table.SetClaims(nil, epoch); err != nil {
		t.Fatal(err)
	}
	if counts := table.Counts(); counts != (slot.Counts{}) {
		t.Errorf("%+v", counts)
	}
}

// A Table works its slots out once per change: what is asked for afterwards makes none anew.
func TestTableWorksOutOncePerChange(t *testing.T) {
	order, err := slot.NewOrder([]slot.Node{{Name: "n", Label: "1", Positions: slot.First(4)}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	table := slot.NewTable()
	table.Configure(slot.Config{UID: "uid", Order: order, Size: "small", Idle: true}, time.Time{})
	table.Counts()
	if n := testing.AllocsPerRun(10, func() {
		table.Forget("another Testbed's", time.Time{})
		table.Counts()
		table.Diff(time.Time{})
	}); n > 0 {
		t.Errorf("got %v allocations for questions after no change", n)
	}
}
