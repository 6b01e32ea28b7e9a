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
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func lab(name string) testbed.Name { return testbed.Name{Namespace: "lab", Name: name} }

// slots returns the slots at these positions on one node.
func slots(positions ...int) []slot.ID {
	var ids []slot.ID
	for _, p := range positions {
		ids = append(ids, slot.ID{Node: "n", Position: p})
	}
	return ids
}

// queued returns a scheduling of this name that queues jobs, which are named after it.
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

func newTable(exclusive string, claims ...claim.Claim) *claim.Table {
	return &claim.Table{Claims: claims, ExclusiveFor: exclusive}
}

// release ends the claim of a job.
func release(table *claim.Table, jobUID string) {
	table.Claims = slices.DeleteFunc(slices.Clone(table.Claims), func(c claim.Claim) bool { return c.JobUID == jobUID })
}

// offer is the slots of a testbed, all and the free ones.
type offer struct{ all, free []slot.ID }

// granted grants, and returns the result as job:positions.
func granted(t *testing.T, table *claim.Table, of offer, all ...claim.Scheduling) []string {
	t.Helper()
	claims, err := table.Grant(all, of.all, of.free, epoch)
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

func both(positions ...int) offer {
	return offer{slots(positions...), slots(positions...)}
}

func TestGrantInOrder(t *testing.T) {
	a, b, c := queued("a", 1, "a1", "a1"), queued("b", 2, "b1", "b2"), queued("c", 1, "c1")
	c.Priority = 5
	table := newTable("")
	if got, want := granted(t, table, both(0, 1, 2, 3, 4), a, b, c), []string{"c1:0", "b1:1", "b2:2", "a1:34"}; !slices.Equal(got, want) {
		t.Errorf("granted %v, want %v", got, want)
	}
	if got := granted(t, table, both(0, 1, 2, 3, 4, 5), a, b, c); got != nil {
		t.Errorf("granted once more: %v", got)
	}
	want := claim.Claim{JobUID: "uid-a1", Job: lab("a1"), SchedulingUID: "a", Scheduling: lab("a"), Slots: slots(3, 4), Since: epoch}
	if diff := cmp.Diff(want, table.Claims[3]); diff != "" {
		t.Error(diff)
	}
}

// An earlier scheduling's next job keeps the slots of its earmark from later schedulings, unless it
// would not fit the whole testbed.
func TestEarmarks(t *testing.T) {
	large, small := queued("large", 2, "l", "l", "l"), queued("small", 1, "s")
	held := claim.Claim{JobUID: "x", Slots: slots(0)}
	if got := granted(t, newTable("", held), both(0, 1, 2), large, small); got != nil {
		t.Errorf("got %v beside one that waits for all three", got)
	}
	if got := granted(t, newTable("", held), both(0, 1, 2, 3, 4), large, small); !slices.Equal(got, []string{"l:123", "s:4"}) {
		t.Errorf("granted %v", got)
	}
	if got := granted(t, newTable("", held), both(0, 1), large, small); !slices.Equal(got, []string{"s:1"}) {
		t.Errorf("got %v beside one that is too large", got)
	}

	placed := queued("placed", 2)
	placed.JobUIDs[lab("p")] = "uid-p"
	placed.Request = claim.Request{Placements: []claim.Placement{{Job: lab("p"), Slots: slots(0, 2)}}}
	if got := granted(t, newTable("", held), both(0, 1, 2), placed, small); !slices.Equal(got, []string{"s:1"}) {
		t.Errorf("granted %v", got)
	}
	placed.Request.Placements[0].Slots = slots(1, 7) // the slot no longer exists
	if got := granted(t, newTable("", held), both(0, 1, 2), placed, small); !slices.Equal(got, []string{"s:1"}) {
		t.Errorf("granted %v", got)
	}
	placed.Request.Placements[0].Slots, placed.Exclusive = nil, true
	if got := granted(t, newTable("", held), both(0, 1, 2), placed, small); !slices.Equal(got, []string{"s:1"}) {
		t.Errorf("granted %v", got)
	}
}

func TestExclusive(t *testing.T) {
	first, alone, last := queued("first", 3, "f"), queued("alone", 2, "a1", "a2"), queued("last", 1, "l")
	alone.Exclusive = true
	table := newTable("")
	of := both(0, 1, 2)
	if got := granted(t, table, of, first, alone, last); !slices.Equal(got, []string{"f:0"}) || table.ExclusiveFor != "" {
		t.Errorf("got %v, exclusive for %q", got, table.ExclusiveFor)
	}
	delete(first.JobUIDs, lab("f"))
	release(table, "uid-f")
	if got := granted(t, table, of, first, alone, last); !slices.Equal(got, []string{"a1:0", "a2:1"}) || table.ExclusiveFor != "alone" {
		t.Errorf("got %v, exclusive for %q", got, table.ExclusiveFor)
	}
	release(table, "uid-a1")
	release(table, "uid-a2")
	clear(alone.JobUIDs)
	before := queued("before", 9, "b")
	before.Priority = 100
	if got := granted(t, table, of, first, alone, last, before); got != nil {
		t.Errorf("got %v for others while one has the testbed exclusively", got)
	}
	table.ExclusiveFor = ""
	if got := granted(t, table, of, first, alone, last); !slices.Equal(got, []string{"l:0"}) {
		t.Errorf("granted %v", got)
	}
	// A scheduling that cannot be served takes no lock, one that only has to wait does.
	large := queued("large", 9, "x", "x", "x")
	large.Exclusive = true
	if got := granted(t, newTable(""), both(0, 1), large, last); !slices.Equal(got, []string{"l:0"}) {
		t.Errorf("granted %v", got)
	}
	table = newTable("")
	if got := granted(t, table, offer{slots(0, 1, 2), slots(0)}, large, last); got != nil || table.ExclusiveFor != "large" {
		t.Errorf("got %v, exclusive for %q", got, table.ExclusiveFor)
	}
}

// A list with a slot twice, or with a claimed slot, claims nothing twice.
func TestGrantTwice(t *testing.T) {
	held := claim.Claim{JobUID: "x", Slots: slots(1)}
	table := newTable("", held)
	if got := granted(t, table, both(0, 0, 1, 2), queued("a", 1, "a", "a")); !slices.Equal(got, []string{"a:02"}) {
		t.Errorf("granted %v", got)
	}
}

func TestGrantRefuses(t *testing.T) {
	good := queued("good", 1, "g")
	for name, change := range map[string]func(*claim.Scheduling){
		"Scheduling.UID":     func(s *claim.Scheduling) { s.UID = "" },
		"Request.Queue":      func(s *claim.Scheduling) { s.Request = claim.Request{} },
		"Scheduling.JobUIDs": func(s *claim.Scheduling) { s.JobUIDs[lab("b")] = "" },
	} {
		bad := queued("bad", 9, "b", "c")
		change(&bad)
		table := newTable("")
		claims, err := table.Grant([]claim.Scheduling{good, bad}, slots(0, 1, 2), slots(0, 1, 2), epoch)
		var fe *field.Error
		if !errors.As(err, &fe) || fe.Field != name || claims != nil || len(table.Claims) > 0 {
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
	if err := left.Validate(); err != nil {
		t.Error(err)
	}
}

// Contradictory claims are refused.
func TestGrantRefusesClaims(t *testing.T) {
	for name, bad := range map[string][][]claim.Claim{
		"Claim.JobUID": {{{}}, {{JobUID: "a"}, {JobUID: "a"}}},
		"Claim.Slots":  {{{JobUID: "a", Slots: slots(0)}, {JobUID: "b", Slots: slots(1, 0)}}},
	} {
		for _, claims := range bad {
			_, err := newTable("", claims...).Grant(nil, nil, nil, epoch)
			var fe *field.Error
			if !errors.As(err, &fe) || fe.Field != name || !errors.Is(err, testbed.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
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
		"the older one":                        {[]claim.Applicant{applicant("a", 0, 1, "x", "y"), applicant("b", 0, 2, "y")}, []bool{false, true}},
		"the more important one":               {[]claim.Applicant{applicant("a", 1, 1, "x", "y"), applicant("b", 0, 2, "y")}, []bool{true, false}},
		"the first by name":                    {[]claim.Applicant{applicant("b", 0, 1, "x"), applicant("a", 0, 1, "x")}, []bool{false, true}},
		"all or nothing":                       {[]claim.Applicant{applicant("a", 0, 2, "x", "busy"), applicant("b", 0, 1, "z")}, []bool{false, true}},
		"jobs of a waiting applicant are kept": {[]claim.Applicant{applicant("a", 0, 3, "busy", "x"), applicant("b", 0, 2, "x", "y"), applicant("c", 0, 1, "y")}, []bool{false, false, false}},
		"those without a common job":           {[]claim.Applicant{applicant("a", 0, 2, "x"), applicant("b", 0, 1, "y", "y")}, []bool{true, true}},
		"nobody":                               {nil, []bool{}},
	} {
		if got := claim.Acquire(tt.applicants, ready); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Whatever comes later, the oldest scheduling that the testbed could serve waits only for slots claimed
// before it became the oldest: no other gets a grant before it has all its jobs, so none starves.
func TestNoStarvation(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		table := newTable("")
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
			if blocked, err := claim.Feasible(s.Request, nil, slots(0, 1, 2, 3, 4, 5)); err != nil || blocked != nil {
				return
			}
			all = append(all, s)
		}
		served := 0
		oldest, before := "", make(map[string]bool)
		for round := 0; served < 12; round++ {
			if round > 400 {
				t.Fatalf("got %d served in %d rounds; first %+v, claims %+v", served, round, all[0], table.Claims)
			}
			for len(all) < 4 {
				arrive()
			}
			granted(t, table, both(0, 1, 2, 3, 4, 5), all...)
			claims := table.Claims
			if len(claims) == 0 {
				t.Fatalf("got no grant for %+v on an empty testbed", all)
			}
			first, others := &all[0], make(map[string]bool)
			for _, c := range claims {
				if c.SchedulingUID != first.UID {
					others[c.JobUID] = true
				}
			}
			locked := table.ExclusiveFor != "" && table.ExclusiveFor != first.UID
			if first.UID != oldest || locked {
				oldest, before = first.UID, others
			}
			if waits := len(claims)-len(others) < len(first.JobUIDs); waits {
				for uid := range others {
					if !before[uid] {
						t.Fatalf("%s got slots while %+v waits", uid, first)
					}
				}
			}
			c := claims[rng.IntN(len(claims))]
			release(table, c.JobUID)
			for i := range all {
				if all[i].UID != c.SchedulingUID {
					continue
				}
				delete(all[i].JobUIDs, c.Job)
				if len(all[i].JobUIDs) == 0 {
					if table.ExclusiveFor == all[i].UID {
						table.ExclusiveFor = ""
					}
					all = slices.Delete(all, i, i+1)
					served++
				}
				break
			}
		}
	}
}

func BenchmarkGrant(b *testing.B) {
	var of []slot.ID
	for i := range 5000 {
		of = append(of, slot.ID{Node: fmt.Sprint("node-", i%1250), Position: i / 1250})
	}
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
			var table claim.Table
			if claims, err := table.Grant(all, of, of, epoch); err != nil || len(claims) != 40 {
				b.Fatal(len(claims), err)
			}
		}
	})
}
