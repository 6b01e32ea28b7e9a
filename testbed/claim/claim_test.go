package claim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/queue"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func lab(name string) testbed.Name { return testbed.Name{Namespace: "lab", Name: name} }

// slots are those with these positions on one node.
func slots(positions ...int) []slot.ID {
	var ids []slot.ID
	for _, p := range positions {
		ids = append(ids, slot.ID{Node: "n", Position: p})
	}
	return ids
}

// queued is a scheduling of the name that queues jobs; they are named by it.
func queued(name string, age int, jobs ...string) claim.Scheduling {
	s := claim.Scheduling{
		Precedence: claim.Precedence{Created: epoch.Add(-time.Duration(age) * time.Hour), Name: lab(name)},
		UID:        name, JobUIDs: make(map[testbed.Name]string),
	}
	for _, job := range jobs {
		s.Request.Queue = append(s.Request.Queue, lab(job))
		s.JobUIDs[lab(job)] = "uid-" + job
	}
	return s
}

func newTable(t *testing.T, exclusive string, claims ...claim.Claim) *claim.Table {
	t.Helper()
	table, err := claim.Rebuild(claims, exclusive)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// granted grants, and spells what is granted as job:positions.
func granted(t *testing.T, table *claim.Table, of claim.Slots, all ...claim.Scheduling) []string {
	t.Helper()
	claims, err := table.Grant(all, of, epoch)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range claims {
		text := c.Job.Name + ":"
		for _, id := range c.Slots {
			text += fmt.Sprint(id.Position)
		}
		out = append(out, text)
	}
	return out
}

func both(positions ...int) claim.Slots {
	return claim.Slots{All: slots(positions...), Free: slots(positions...)}
}

func TestGrantInOrder(t *testing.T) {
	a, b, c := queued("a", 1, "a1", "a1"), queued("b", 2, "b1", "b2"), queued("c", 1, "c1")
	c.Priority = 5
	table := newTable(t, "")
	if got, want := granted(t, table, both(0, 1, 2, 3, 4), a, b, c), []string{"c1:0", "b1:1", "b2:2", "a1:34"}; !slices.Equal(got, want) {
		t.Errorf("granted %v, want %v", got, want)
	}
	if got := granted(t, table, both(0, 1, 2, 3, 4, 5), a, b, c); got != nil {
		t.Errorf("granted once more: %v", got)
	}
	want := claim.Claim{JobUID: "uid-a1", Job: lab("a1"), SchedulingUID: "a", Scheduling: lab("a"), Slots: slots(3, 4), Since: epoch}
	got, ok := table.Of("uid-a1")
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Error(ok, diff)
	}
	if owner := table.Owner(slots(4)[0]); owner != "uid-a1" || table.Owner(slots(5)[0]) != "" {
		t.Errorf("owner %q", owner)
	}
	got.Slots[0] = slot.ID{Node: "changed"}
	for _, c := range table.Claims() {
		c.Slots[0] = slot.ID{Node: "changed"}
	}
	if again, _ := table.Of("uid-a1"); !slices.Equal(again.Slots, slots(3, 4)) {
		t.Error("what is returned is the table's own")
	}
	if !table.Release("uid-a1") || table.Release("uid-a1") || table.Owner(slots(4)[0]) != "" {
		t.Error("not released, or twice")
	}
}

// An earlier scheduling's next job keeps what it counts on from those behind it, unless
// the whole testbed would not do for it.
func TestEarmarks(t *testing.T) {
	large, small := queued("large", 2, "l", "l", "l"), queued("small", 1, "s")
	held := claim.Claim{JobUID: "x", Slots: slots(0)}
	if got := granted(t, newTable(t, "", held), both(0, 1, 2), large, small); got != nil {
		t.Errorf("granted %v beside one that waits for all three", got)
	}
	if got := granted(t, newTable(t, "", held), both(0, 1, 2, 3, 4), large, small); !slices.Equal(got, []string{"l:123", "s:4"}) {
		t.Errorf("granted %v", got)
	}
	if got := granted(t, newTable(t, "", held), both(0, 1), large, small); !slices.Equal(got, []string{"s:1"}) {
		t.Errorf("granted %v beside one that is too large", got)
	}

	placed := queued("placed", 2)
	placed.JobUIDs[lab("p")] = "uid-p"
	placed.Request = queue.Request{Placements: []queue.Placement{{Job: lab("p"), Slots: slots(0, 2)}}}
	if got := granted(t, newTable(t, "", held), both(0, 1, 2), placed, small); !slices.Equal(got, []string{"s:1"}) {
		t.Errorf("granted %v", got)
	}
	placed.Request.Placements[0].Slots = slots(1, 7) // a slot that is gone
	if got := granted(t, newTable(t, "", held), both(0, 1, 2), placed, small); !slices.Equal(got, []string{"s:1"}) {
		t.Errorf("granted %v", got)
	}
	placed.Request.Placements[0].Slots, placed.Exclusive = nil, true
	if got := granted(t, newTable(t, "", held), both(0, 1, 2), placed, small); !slices.Equal(got, []string{"s:1"}) {
		t.Errorf("granted %v", got)
	}
}

func TestExclusive(t *testing.T) {
	first, alone, last := queued("first", 3, "f"), queued("alone", 2, "a1", "a2"), queued("last", 1, "l")
	alone.Exclusive = true
	table := newTable(t, "")
	of := both(0, 1, 2)
	if got := granted(t, table, of, first, alone, last); !slices.Equal(got, []string{"f:0"}) || table.ExclusiveFor() != "" {
		t.Errorf("granted %v, exclusive for %q", got, table.ExclusiveFor())
	}
	first.Submitted = map[testbed.Name]bool{lab("f"): true}
	table.Release("uid-f")
	if got := granted(t, table, of, first, alone, last); !slices.Equal(got, []string{"a1:0", "a2:1"}) || table.ExclusiveFor() != "alone" {
		t.Errorf("granted %v, exclusive for %q", got, table.ExclusiveFor())
	}
	table.Release("uid-a1")
	table.Release("uid-a2")
	alone.Submitted = map[testbed.Name]bool{lab("a1"): true, lab("a2"): true}
	before := queued("before", 9, "b")
	before.Priority = 100
	if got := granted(t, table, of, first, alone, last, before); got != nil {
		t.Errorf("granted %v to others while one has the testbed alone", got)
	}
	if table.Unlock("") || table.Unlock("last") || !table.Unlock("alone") || table.Unlock("alone") {
		t.Error("unlocked by another, or twice")
	}
	if got := granted(t, table, of, first, alone, last); !slices.Equal(got, []string{"l:0"}) {
		t.Errorf("granted %v", got)
	}
	// One that cannot be served takes no lock, one that can only wait does.
	large := queued("large", 9, "x", "x", "x")
	large.Exclusive = true
	if got := granted(t, newTable(t, ""), both(0, 1), large, last); !slices.Equal(got, []string{"l:0"}) {
		t.Errorf("granted %v", got)
	}
	table = newTable(t, "")
	if got := granted(t, table, claim.Slots{All: slots(0, 1, 2), Free: slots(0)}, large, last); got != nil || table.ExclusiveFor() != "large" {
		t.Errorf("granted %v, exclusive for %q", got, table.ExclusiveFor())
	}
}

// A list that names a slot twice, or one that is claimed, claims nothing twice.
func TestGrantTwice(t *testing.T) {
	held := claim.Claim{JobUID: "x", Slots: slots(1)}
	table := newTable(t, "", held)
	if got := granted(t, table, both(0, 0, 1, 2), queued("a", 1, "a", "a")); !slices.Equal(got, []string{"a:02"}) {
		t.Errorf("granted %v", got)
	}
}

func TestGrantRefuses(t *testing.T) {
	good := queued("good", 1, "g")
	for name, change := range map[string]func(*claim.Scheduling){
		"Scheduling.UID":     func(s *claim.Scheduling) { s.UID = "" },
		"Request.Queue":      func(s *claim.Scheduling) { s.Request = queue.Request{} },
		"Scheduling.JobUIDs": func(s *claim.Scheduling) { delete(s.JobUIDs, lab("b")) },
	} {
		bad := queued("bad", 9, "b", "c")
		change(&bad)
		table := newTable(t, "")
		claims, err := table.Grant([]claim.Scheduling{good, bad}, both(0, 1, 2), epoch)
		var fe *field.Error
		if !errors.As(err, &fe) || fe.Field != name || claims != nil || len(table.Claims()) > 0 {
			t.Errorf("%s: %v, %v", name, claims, err)
		}
	}
	twice := queued("twice", 1, "b", "c")
	twice.JobUIDs[lab("c")] = twice.JobUIDs[lab("b")]
	if err := twice.Validate(); !errors.Is(err, testbed.ErrInvalid) {
		t.Error(err)
	}
	left := queued("left", 1, "b", "c")
	delete(left.JobUIDs, lab("c"))
	left.Submitted = map[testbed.Name]bool{lab("c"): true}
	if err := left.Validate(); err != nil {
		t.Error(err)
	}
}

func TestRebuild(t *testing.T) {
	claims := []claim.Claim{{JobUID: "b", Since: epoch, Slots: slots(1)}, {JobUID: "a", Since: epoch, Slots: slots(0)}, {JobUID: "c", Since: epoch.Add(-1)}}
	table := newTable(t, "s", claims...)
	var order []string
	for _, c := range table.Claims() {
		order = append(order, c.JobUID)
	}
	if !slices.Equal(order, []string{"c", "a", "b"}) || table.ExclusiveFor() != "s" {
		t.Errorf("%v, exclusive for %q", order, table.ExclusiveFor())
	}
	claims[0].Slots[0] = slot.ID{Node: "changed"}
	if c, _ := table.Of("b"); !slices.Equal(c.Slots, slots(1)) {
		t.Error("the table keeps what it was given")
	}
	for name, bad := range map[string][]claim.Claim{
		"Claim.JobUID": {{JobUID: "a"}, {JobUID: "a"}},
		"Claim.Slots":  {{JobUID: "a", Slots: slots(0)}, {JobUID: "b", Slots: slots(1, 0)}},
	} {
		_, err := claim.Rebuild(bad, "")
		var fe *field.Error
		if !errors.As(err, &fe) || fe.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := claim.Rebuild([]claim.Claim{{}}, ""); !errors.Is(err, testbed.ErrInvalid) {
		t.Error(err)
	}
}

func TestAcquire(t *testing.T) {
	applicant := func(name string, priority int32, age int, jobs ...string) claim.Applicant {
		a := claim.Applicant{Precedence: claim.Precedence{Priority: priority, Created: epoch.Add(-time.Duration(age)), Name: lab(name)}}
		for _, job := range jobs {
			a.Jobs = append(a.Jobs, lab(job))
		}
		return a
	}
	ready := func(n testbed.Name) bool { return n.Name != "busy" }
	for name, tt := range map[string]struct {
		applicants []claim.Applicant
		want       []bool
	}{
		"the older one":              {[]claim.Applicant{applicant("a", 0, 1, "x", "y"), applicant("b", 0, 2, "y")}, []bool{false, true}},
		"the more important one":     {[]claim.Applicant{applicant("a", 1, 1, "x", "y"), applicant("b", 0, 2, "y")}, []bool{true, false}},
		"the first by name":          {[]claim.Applicant{applicant("b", 0, 1, "x"), applicant("a", 0, 1, "x")}, []bool{false, true}},
		"all or nothing":             {[]claim.Applicant{applicant("a", 0, 2, "x", "busy"), applicant("b", 0, 1, "z")}, []bool{false, true}},
		"who waits is not robbed":    {[]claim.Applicant{applicant("a", 0, 3, "busy", "x"), applicant("b", 0, 2, "x", "y"), applicant("c", 0, 1, "y")}, []bool{false, false, false}},
		"those without a common job": {[]claim.Applicant{applicant("a", 0, 2, "x"), applicant("b", 0, 1, "y", "y")}, []bool{true, true}},
		"nobody":                     {nil, []bool{}},
	} {
		if got := claim.Acquire(tt.applicants, ready); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Whatever comes later, the oldest scheduling that the testbed could serve waits only for
// what was claimed when it became the oldest: nobody is granted anything before it has all
// its jobs, so nobody starves.
func TestNobodyStarves(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		table := newTable(t, "")
		var all []claim.Scheduling
		n := 0
		arrive := func() {
			n++
			var jobs []string
			for range 1 + rng.IntN(8) {
				jobs = append(jobs, fmt.Sprintf("j%d-%d", n, rng.IntN(2)))
			}
			s := queued(fmt.Sprint("s", n), -n, jobs...)
			s.Exclusive = rng.IntN(5) == 0
			if blocked, err := queue.Feasible(s.Request, nil, slots(0, 1, 2, 3, 4, 5)); err != nil || blocked != nil {
				return
			}
			s.Submitted = make(map[testbed.Name]bool)
			all = append(all, s)
		}
		served := 0
		oldest, before := "", make(map[string]bool)
		for round := 0; served < 12; round++ {
			if round > 400 {
				t.Fatalf("served %d in %d rounds; first is %+v, claims %+v", served, round, all[0], table.Claims())
			}
			for len(all) < 4 {
				arrive()
			}
			granted(t, table, both(0, 1, 2, 3, 4, 5), all...)
			claims := table.Claims()
			if len(claims) == 0 {
				t.Fatalf("nothing is granted to %+v on an empty testbed", all)
			}
			first, others := &all[0], make(map[string]bool)
			for _, c := range claims {
				if c.SchedulingUID != first.UID {
					others[c.JobUID] = true
				}
			}
			locked := table.ExclusiveFor() != "" && table.ExclusiveFor() != first.UID
			if first.UID != oldest || locked {
				oldest, before = first.UID, others
			}
			if waits := len(first.Submitted)+len(claims)-len(others) < len(first.JobUIDs); waits {
				for uid := range others {
					if !before[uid] {
						t.Fatalf("%s is granted slots while %+v waits", uid, first)
					}
				}
			}
			c := claims[rng.IntN(len(claims))]
			table.Release(c.JobUID)
			for i := range all {
				if all[i].UID != c.SchedulingUID {
					continue
				}
				all[i].Submitted[c.Job] = true
				if len(all[i].Submitted) == len(all[i].JobUIDs) {
					table.Unlock(all[i].UID)
					all = slices.Delete(all, i, i+1)
					served++
				}
				break
			}
		}
	}
}

func BenchmarkGrant(b *testing.B) {
	var of claim.Slots
	for i := range 5000 {
		of.All = append(of.All, slot.ID{Node: fmt.Sprint("node-", i%1250), Position: i / 1250})
	}
	of.Free = of.All
	var all []claim.Scheduling
	for i := range 4 {
		var jobs []string
		for k := range 100 {
			jobs = append(jobs, fmt.Sprintf("s%d-%d", i, k/10))
		}
		all = append(all, queued(fmt.Sprint("s", i), i, jobs...))
	}
	b.Run("slots=5000/schedulings=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			table, err := claim.Rebuild(nil, "")
			if err != nil {
				b.Fatal(err)
			}
			if claims, err := table.Grant(all, of, epoch); err != nil || len(claims) != 40 {
				b.Fatal(len(claims), err)
			}
		}
	})
}
