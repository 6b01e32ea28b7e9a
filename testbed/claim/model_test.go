package claim_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var steps = flag.Int("steps", 30000, "steps of TestModel")

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// store is the API server's record of a testbed: a write with an old version fails.
type store struct {
	version   int
	claims    []claim.Claim
	exclusive string
}

func (s *store) write(version int, claims []claim.Claim, exclusive string) bool {
	if version != s.version {
		return false
	}
	s.version++
	s.claims, s.exclusive = claims, exclusive
	return true
}

// leader is a controller that assumes it is the only one.
type leader struct {
	table   *claim.Table
	version int
}

// world is the schedulings and slots of a model, and their controllers.
type world struct {
	t       testing.TB
	rng     *rand.Rand
	now     time.Time
	store   store
	leaders [2]leader
	nodes   []bool // whether the node of this number exists, with two slots
	broken  map[slot.ID]bool
	serial  int
	all     []claim.Scheduling
}

func newWorld(t testing.TB, rng *rand.Rand) *world {
	w := &world{t: t, rng: rng, now: epoch, nodes: []bool{true, true, true, true}, broken: make(map[slot.ID]bool)}
	for i := range w.leaders {
		w.restart(i)
	}
	return w
}

// restart rebuilds a leader's table from the store.
func (w *world) restart(i int) {
	w.t.Helper()
	table := &claim.Table{Claims: slices.Clone(w.store.claims), ExclusiveFor: w.store.exclusive}
	w.leaders[i] = leader{table: table, version: w.store.version}
}

// slots returns the slots of the existing nodes, all and the free ones.
func (w *world) slots() (all, free []slot.ID) {
	for position := range 2 {
		for n, there := range w.nodes {
			if id := (slot.ID{Node: fmt.Sprint("n", n), Position: position}); there {
				all = append(all, id)
				if !w.broken[id] {
					free = append(free, id)
				}
			}
		}
	}
	return all, free
}

// arrive adds a scheduling of one to four jobs.
func (w *world) arrive() {
	w.serial++
	s := claim.Scheduling{
		Precedence: claim.Precedence{
			Priority: int32(w.rng.IntN(3)), Created: epoch.Add(time.Duration(w.serial/2) * time.Second),
			Name: testbed.Name{Namespace: "lab", Name: fmt.Sprint("s", w.serial)},
		},
		UID: fmt.Sprint("uid-", w.serial), Exclusive: w.rng.IntN(8) == 0,
		JobUIDs: make(map[testbed.Name]string),
	}
	names := make([]testbed.Name, 1+w.rng.IntN(4))
	for i := range names {
		names[i] = testbed.Name{Namespace: "lab", Name: fmt.Sprintf("j%d-%d", w.serial, i)}
		s.JobUIDs[names[i]] = "uid of " + names[i].Name
	}
	if w.rng.IntN(2) == 0 {
		for range 1 + w.rng.IntN(7) {
			s.Request.Queue = append(s.Request.Queue, names[w.rng.IntN(len(names))])
		}
	} else {
		s.Request.Relaxed = w.rng.IntN(2) == 0
		for _, name := range names {
			p := claim.Placement{Job: name}
			for _, k := range w.rng.Perm(8)[:1+w.rng.IntN(3)] {
				p.Slots = append(p.Slots, slot.ID{Node: fmt.Sprint("n", k/2), Position: k % 2})
			}
			s.Request.Placements = append(s.Request.Placements, p)
		}
	}
	w.all = append(w.all, s)
}

// grant lets a leader grant and store, and compares with the reference.
func (w *world) grant(i int) {
	w.t.Helper()
	l := &w.leaders[i]
	all, free := w.slots()
	want, exclusive := naiveGrant(l.table.Claims, l.table.ExclusiveFor, w.all, all, free, w.now)
	got, err := l.table.Grant(w.all, all, free, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	if !same(got, want) || l.table.ExclusiveFor != exclusive {
		w.t.Fatalf("exclusive for %q, want %q: %s", l.table.ExclusiveFor, exclusive, cmp.Diff(want, got))
	}
	w.put(i)
}

// same reports whether the claims are equal: cmp.Equal would dominate a million steps.
func same(a, b []claim.Claim) bool {
	return slices.EqualFunc(a, b, func(a, b claim.Claim) bool {
		return a.JobUID == b.JobUID && a.Job == b.Job && a.SchedulingUID == b.SchedulingUID &&
			a.Scheduling == b.Scheduling && a.Since.Equal(b.Since) && slices.Equal(a.Slots, b.Slots)
	})
}

// put stores a leader's table; an old leader's write fails, and it restarts.
func (w *world) put(i int) {
	w.t.Helper()
	l := &w.leaders[i]
	if w.store.write(l.version, l.table.Claims, l.table.ExclusiveFor) {
		l.version = w.store.version
		return
	}
	w.restart(i)
}

// end releases one of the stored jobs, which has run or will run again.
func (w *world) end(i int) {
	w.t.Helper()
	w.leaders[i].version = -1 // its unstored grants are lost
	w.restart(i)
	if len(w.store.claims) == 0 {
		return
	}
	c := w.store.claims[w.rng.IntN(len(w.store.claims))]
	release(w.leaders[i].table, c.JobUID)
	again := w.rng.IntN(5) == 0
	for k := range w.all {
		if w.all[k].UID == c.SchedulingUID && !again {
			delete(w.all[k].JobUIDs, c.Job)
		}
	}
	w.put(i)
}

// leave removes a scheduling without claimed jobs.
func (w *world) leave(i int) {
	w.t.Helper()
	if len(w.all) == 0 {
		return
	}
	w.restart(i)
	k := w.rng.IntN(len(w.all))
	uid := w.all[k].UID
	for _, c := range w.store.claims {
		if c.SchedulingUID == uid {
			return
		}
	}
	w.all = slices.Delete(w.all, k, k+1)
	if table := w.leaders[i].table; table.ExclusiveFor == uid {
		table.ExclusiveFor = ""
	}
	w.put(i)
}

func (w *world) step() {
	w.t.Helper()
	w.now = w.now.Add(time.Duration(w.rng.IntN(100)) * time.Millisecond)
	i := w.rng.IntN(2)
	switch w.rng.IntN(12) {
	case 0, 1:
		if len(w.all) < 7 {
			w.arrive()
		}
	case 2:
		w.leave(i)
	case 3:
		n := w.rng.IntN(len(w.nodes))
		w.nodes[n] = !w.nodes[n] || w.rng.IntN(3) == 0
	case 4:
		id := slot.ID{Node: fmt.Sprint("n", w.rng.IntN(4)), Position: w.rng.IntN(2)}
		w.broken[id] = w.rng.IntN(3) == 0
	case 5: // a crash, before or after its write
		w.restart(i)
	case 6, 7, 8:
		w.end(i)
	default:
		w.grant(i)
	}
	w.check()
}

// check checks the invariants of the store.
func (w *world) check() {
	owner := make(map[slot.ID]string, 8)
	for i, c := range w.store.claims {
		for _, id := range c.Slots {
			if other, twice := owner[id]; twice {
				w.t.Fatalf("%v: got claims by %s and %s", id, other, c.JobUID)
			}
			owner[id] = c.JobUID
		}
		if w.store.exclusive != "" && c.SchedulingUID != w.store.exclusive {
			w.t.Fatalf("%s has the testbed exclusively, beside %+v", w.store.exclusive, c)
		}
		if i > 0 && w.store.claims[i-1].Since.After(c.Since) {
			w.t.Fatal("the claims are not sorted")
		}
	}
}

// TestModel lets two leaders grant, release, crash and write late while schedulings and nodes come and
// go. Each grant equals the reference's.
func TestModel(t *testing.T) {
	const life = 2000
	for seed := range (*steps + life - 1) / life {
		w := newWorld(t, rand.New(rand.NewPCG(uint64(seed), 1)))
		for range min(life, *steps-seed*life) {
			w.step()
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		w := newWorld(t, rand.New(rand.NewPCG(a, b)))
		for range 200 {
			w.step()
		}
	})
}

// naiveGrant is Grant, one scheduling, one job and one slot at a time.
func naiveGrant(claims []claim.Claim, exclusive string, all []claim.Scheduling, slots, freeSlots []slot.ID, now time.Time) ([]claim.Claim, string) {
	claims = slices.Clone(claims)
	var granted []claim.Claim
	var kept []slot.ID // for those served before
	served := make(map[string]bool)
	free := func() []slot.ID {
		var ids []slot.ID
		for _, id := range freeSlots {
			is := !slices.Contains(kept, id)
			for _, c := range claims {
				is = is && !slices.Contains(c.Slots, id)
			}
			if is {
				ids = append(ids, id)
			}
		}
		return ids
	}
	left := func(s *claim.Scheduling, name testbed.Name) bool {
		_, is := s.JobUIDs[name]
		for _, c := range claims {
			is = is && c.JobUID != s.JobUIDs[name]
		}
		return is
	}
	for {
		s := first(all, served)
		if s == nil {
			return granted, exclusive
		}
		served[s.UID] = true
		if exclusive != "" && exclusive != s.UID {
			continue
		}
		before := len(claims)
		for {
			name, ids, needs, ok := nextJob(s, free(), slots, left)
			if ok && s.Exclusive && exclusive == "" {
				if before > 0 {
					return granted, exclusive
				}
				exclusive = s.UID
			}
			if !ok || ids == nil {
				kept = append(kept, needs...)
				break
			}
			c := claim.Claim{JobUID: s.JobUIDs[name], Job: name, SchedulingUID: s.UID, Scheduling: s.Name, Slots: ids, Since: now}
			claims, granted = append(claims, c), append(granted, c)
		}
	}
}

// first returns the scheduling to be served next.
func first(all []claim.Scheduling, served map[string]bool) *claim.Scheduling {
	var best *claim.Scheduling
	for i := range all {
		s := &all[i]
		switch {
		case served[s.UID]:
		case best == nil, s.Priority > best.Priority:
			best = s
		case s.Priority < best.Priority:
		case s.Created.Before(best.Created), s.Created.Equal(best.Created) && s.Name.String() < best.Name.String():
			best = s
		}
	}
	return best
}

// nextJob returns a job that starts and its slots; or, ok without slots, that a job waits for the
// returned ones; or that no remaining job can ever start.
func nextJob(s *claim.Scheduling, free, all []slot.ID, left func(*claim.Scheduling, testbed.Name) bool) (name testbed.Name, ids, keeps []slot.ID, ok bool) {
	waits, found := false, false
	for _, p := range s.Request.Placements {
		if !left(s, p.Job) {
			continue
		}
		fits, possible := true, true
		var its []slot.ID
		for _, id := range p.Slots {
			fits = fits && slices.Contains(free, id)
			possible = possible && slices.Contains(all, id)
			if slices.Contains(free, id) {
				its = append(its, id)
			}
		}
		if fits {
			return p.Job, p.Slots, nil, true
		}
		if !found {
			found, waits = true, possible
			if possible {
				keeps = its
			}
		}
		if !s.Request.Relaxed {
			break
		}
	}
	if found {
		return testbed.Name{}, nil, keeps, waits
	}
	var entries []testbed.Name
	for _, name := range s.Request.Queue {
		if left(s, name) {
			entries = append(entries, name)
		}
	}
	if len(entries) == 0 {
		return testbed.Name{}, nil, nil, false
	}
	last := 0
	for i, name := range entries {
		if name == entries[0] {
			last = i
		}
	}
	if last < len(free) {
		for i, name := range entries {
			if name == entries[0] {
				ids = append(ids, free[i])
			}
		}
		return entries[0], ids, nil, true
	}
	if last >= len(all) {
		return testbed.Name{}, nil, nil, false
	}
	return testbed.Name{}, nil, free, true
}
