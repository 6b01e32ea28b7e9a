package claim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func job(n int) testbed.Name {
	return testbed.Name{Namespace: "default", Name: fmt.Sprint("job", n)}
}

func jobs(numbers ...int) []testbed.Name {
	var names []testbed.Name
	for _, n := range numbers {
		names = append(names, job(n))
	}
	return names
}

func set(numbers ...int) map[testbed.Name]bool {
	names := make(map[testbed.Name]bool)
	for _, n := range numbers {
		names[job(n)] = true
	}
	return names
}

func indexes(ids []slot.ID) []int {
	var out []int
	for _, id := range ids {
		out = append(out, id.Position)
	}
	return out
}

// result is the result of claim.Plan.
type result struct {
	Submit  []claim.Placement
	Blocked *claim.Blocked
}

func plan(t testing.TB, r claim.Request, submitted map[testbed.Name]bool, free []slot.ID) result {
	t.Helper()
	submit, blocked, err := claim.Plan(r, submitted, free)
	if err != nil {
		t.Fatal(err)
	}
	return result{submit, blocked}
}

// TestThesisCases replays the four test cases of the thesis' program: a job's slots, by the queue, the
// free slots and the submitted jobs.
func TestThesisCases(t *testing.T) {
	type look struct {
		free      []int
		submitted []int
		job       int
		want      []int
	}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for name, tt := range map[string]struct {
		queue []int
		looks []look
	}{
		"longQueueOddNumber": {
			[]int{1, 2, 3, 1, 2, 3, 1, 2, 3},
			[]look{
				{free: all, job: 1, want: []int{0, 3, 6}},
				{free: []int{1, 2, 4, 5, 7}, submitted: []int{1}, job: 2, want: []int{1, 4, 7}},
				{free: []int{2, 5}, submitted: []int{1, 2}, job: 3},
				{free: []int{0, 2, 3, 5, 6}, submitted: []int{1, 2}, job: 3, want: []int{0, 2, 3}},
			},
		},
		"longQueue": {
			[]int{1, 2, 1, 2, 1, 2, 1, 2, 3, 3, 3, 3},
			[]look{
				{free: all, job: 1, want: []int{0, 2, 4, 6}},
				{free: []int{1, 3, 5, 7}, submitted: []int{1}, job: 2, want: []int{1, 3, 5, 7}},
				{submitted: []int{1, 2}, job: 3},
				{free: []int{1, 3, 5, 7}, submitted: []int{1, 2}, job: 3, want: []int{1, 3, 5, 7}},
			},
		},
		"impossible": {
			[]int{2, 1, 1, 2, 1, 2, 1, 2, 2},
			[]look{
				{free: all, job: 2},
				{free: all, job: 1}, // job2, before job1 is stopped by it
			},
		},
		"simpleTest": {
			[]int{2, 1, 1, 2, 1, 2, 1, 2},
			[]look{
				{free: all, job: 2, want: []int{0, 3, 5, 7}},
				{free: []int{1, 2, 4, 6}, submitted: []int{2}, job: 1, want: []int{1, 2, 4, 6}},
			},
		},
	} {
		for i, l := range tt.looks {
			q := jobs(tt.queue...)
			var planned []int
			for _, p := range plan(t, claim.Request{Queue: q}, set(l.submitted...), slots(l.free...)).Submit {
				if p.Job == job(l.job) {
					planned = indexes(p.Slots)
				}
			}
			if !slices.Equal(planned, l.want) {
				t.Errorf("%s, %d: job%d: got slots %v, want %v", name, i, l.job, planned, l.want)
			}
		}
	}
	// Requests for which the thesis' program waits silently are refused at once.
	blocked, err := claim.Feasible(claim.Request{Queue: jobs(2, 1, 1, 2, 1, 2, 1, 2, 2)}, nil, slots(all...))
	if err != nil || blocked == nil || blocked.Job != job(2) || blocked.Needs != 9 {
		t.Errorf("%+v, %v", blocked, err)
	}
}

func TestPlan(t *testing.T) {
	place := func(n int, indexes ...int) claim.Placement {
		return claim.Placement{Job: job(n), Slots: slots(indexes...)}
	}
	abc := []claim.Placement{place(1, 0, 1), place(2, 2), place(3, 1, 3), place(4, 3)}
	for name, tt := range map[string]struct {
		request   claim.Request
		submitted map[testbed.Name]bool
		free      []slot.ID
		want      result
	}{
		"a queue that ends": {
			claim.Request{Queue: jobs(1, 2, 1)}, nil, slots(4, 5, 6, 7),
			result{Submit: []claim.Placement{place(1, 4, 6), place(2, 5)}},
		},
		"a queue that stops": {
			claim.Request{Queue: jobs(1, 2, 3, 2, 4)}, nil, slots(0, 5, 7),
			result{
				Submit:  []claim.Placement{place(1, 0)},
				Blocked: &claim.Blocked{Job: job(2), Needs: 3, Earmark: slots(5, 7)},
			},
		},
		"an earmark does not use the rest": {
			claim.Request{Queue: jobs(1, 2, 2, 1, 1)}, set(2), slots(0, 1),
			result{Blocked: &claim.Blocked{Job: job(1), Needs: 3, Earmark: slots(0, 1)}},
		},
		"all submitted": {claim.Request{Queue: jobs(1, 2)}, set(1, 2, 3), slots(0), result{}},
		"strict": {
			claim.Request{Placements: abc}, nil, slots(1, 2, 3),
			result{Blocked: &claim.Blocked{Job: job(1), Needs: 2, Earmark: slots(1)}},
		},
		"strict starts what it can": {
			claim.Request{Placements: abc}, nil, slots(0, 1, 2, 3),
			result{
				Submit:  []claim.Placement{place(1, 0, 1), place(2, 2)},
				Blocked: &claim.Blocked{Job: job(3), Needs: 2, Earmark: slots(3)},
			},
		},
		"relaxed": {
			claim.Request{Placements: abc, Relaxed: true}, nil, slots(1, 2, 3),
			result{
				Submit:  []claim.Placement{place(2, 2), place(3, 1, 3)},
				Blocked: &claim.Blocked{Job: job(1), Needs: 2},
			},
		},
		"relaxed, with the remaining slots": {
			claim.Request{Placements: abc, Relaxed: true}, set(1, 2), slots(3),
			result{
				Submit:  []claim.Placement{place(4, 3)},
				Blocked: &claim.Blocked{Job: job(3), Needs: 2},
			},
		},
		"without slots": {
			claim.Request{Placements: []claim.Placement{place(1)}}, nil, slots(3),
			result{Blocked: &claim.Blocked{Job: job(1)}},
		},
	} {
		if diff := cmp.Diff(tt.want, plan(t, tt.request, tt.submitted, tt.free)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	one := claim.Placement{Job: job(1), Slots: slots(1)}
	for name, requests := range map[string][]claim.Request{
		"Request.Queue":   {{}, {Queue: jobs(1), Placements: []claim.Placement{one}}},
		"Placement.Job":   {{Placements: []claim.Placement{one, one}}},
		"Placement.Slots": {{Placements: []claim.Placement{{Job: job(1), Slots: slots(1, 2, 1)}}}},
	} {
		for _, r := range requests {
			_, _, err := claim.Plan(r, nil, slots(0, 1, 2))
			_, infeasible := claim.Feasible(r, nil, slots(0, 1, 2))
			for _, err := range []error{err, infeasible} {
				var fe *field.Error
				if !errors.As(err, &fe) || fe.Field != name || !errors.Is(err, testbed.ErrInvalid) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

func TestFeasible(t *testing.T) {
	for name, tt := range map[string]struct {
		request   claim.Request
		submitted map[testbed.Name]bool
		want      string
	}{
		"one after the other":        {claim.Request{Queue: jobs(1, 1, 1, 2, 2, 2, 3)}, nil, ""},
		"too large":                  {claim.Request{Queue: jobs(1, 2, 2, 2, 2)}, nil, "job2"},
		"too much in between":        {claim.Request{Queue: jobs(1, 2, 2, 1)}, nil, "job1"},
		"already started":            {claim.Request{Queue: jobs(1, 2, 2, 1)}, set(1), ""},
		"strict, one after another":  {claim.Request{Placements: []claim.Placement{{job(1), slots(0, 1)}, {job(2), slots(1)}}}, nil, ""},
		"a slot that does not exist": {claim.Request{Placements: []claim.Placement{{job(1), slots(0, 1)}, {job(2), slots(3)}, {job(3), slots(0)}}}, nil, "job2"},
	} {
		given := len(tt.submitted)
		blocked, err := claim.Feasible(tt.request, tt.submitted, slots(0, 1, 2))
		got := ""
		if blocked != nil {
			got = blocked.Job.Name
		}
		if err != nil || got != tt.want || len(tt.submitted) != given {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

// naivePlan takes one job at a time, and numbers the queue and the slots again for each.
func naivePlan(r claim.Request, submitted map[testbed.Name]bool, free []slot.ID) (started []claim.Placement, blocked testbed.Name) {
	done := make(map[testbed.Name]bool)
	for name := range submitted {
		done[name] = submitted[name]
	}
	free = slices.Clone(free)
	start := func(name testbed.Name, ids []slot.ID) {
		done[name] = true
		started = append(started, claim.Placement{Job: name, Slots: ids})
		free = slices.DeleteFunc(free, func(id slot.ID) bool { return slices.Contains(ids, id) })
	}
	for _, p := range r.Placements {
		if done[p.Job] {
			continue
		}
		fits := len(p.Slots) > 0
		for _, id := range p.Slots {
			fits = fits && slices.Contains(free, id)
		}
		switch {
		case fits:
			start(p.Job, p.Slots)
		case !r.Relaxed:
			return started, p.Job
		case blocked == testbed.Name{}:
			blocked = p.Job
		}
	}
	for {
		var left []testbed.Name
		for _, name := range r.Queue {
			if !done[name] {
				left = append(left, name)
			}
		}
		if len(left) == 0 {
			return started, blocked
		}
		var ids []slot.ID
		for i, name := range left {
			if name != left[0] {
				continue
			}
			if i >= len(free) {
				return started, left[0]
			}
			ids = append(ids, free[i])
		}
		start(left[0], ids)
	}
}

// random returns a request, the submitted jobs, and the free slots.
func random(rng *rand.Rand) (claim.Request, map[testbed.Name]bool, []slot.ID) {
	var r claim.Request
	if rng.IntN(2) == 0 {
		for range 1 + rng.IntN(12) {
			r.Queue = append(r.Queue, job(rng.IntN(5)))
		}
	} else {
		r.Relaxed = rng.IntN(2) == 0
		for _, n := range rng.Perm(6)[:1+rng.IntN(5)] {
			r.Placements = append(r.Placements, claim.Placement{Job: job(n), Slots: slots(rng.Perm(8)[:rng.IntN(4)]...)})
		}
	}
	submitted := make(map[testbed.Name]bool)
	for n := range 6 {
		if rng.IntN(4) == 0 {
			submitted[job(n)] = rng.IntN(4) > 0
		}
	}
	free := slots(rng.Perm(10)[:rng.IntN(10)]...)
	slices.SortFunc(free, slot.ID.Compare)
	return r, submitted, free
}

func TestPlanEqualsNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 12))
	for range 20000 {
		check(t, rng)
	}
}

// check compares a plan with the reference's, and checks its invariants.
func check(t *testing.T, rng *rand.Rand) {
	t.Helper()
	r, submitted, free := random(rng)
	got := plan(t, r, submitted, free)
	want, blocked := naivePlan(r, submitted, free)
	if diff := cmp.Diff(want, got.Submit); diff != "" {
		t.Fatalf("%+v, submitted %v, free %v: %s", r, submitted, indexes(free), diff)
	}
	var is testbed.Name
	if got.Blocked != nil {
		is = got.Blocked.Job
	}
	if is != blocked {
		t.Fatalf("%+v, submitted %v, free %v: got blocked %v, want %v", r, submitted, indexes(free), is, blocked)
	}
	// The remaining slots start nothing else, and the blocked job starts as soon as its earmark is
	// filled up.
	left := slices.Clone(free)
	now := make(map[testbed.Name]bool)
	for name := range submitted {
		now[name] = submitted[name]
	}
	for _, p := range got.Submit {
		now[p.Job] = true
		left = slices.DeleteFunc(left, func(id slot.ID) bool { return slices.Contains(p.Slots, id) })
	}
	if again := plan(t, r, now, left); len(again.Submit) > 0 {
		t.Fatalf("planned again: got %+v", again.Submit)
	}
	if b := got.Blocked; b != nil && b.Needs > 0 {
		for _, id := range b.Earmark {
			if !slices.Contains(left, id) {
				t.Fatalf("earmark %v of %v", b.Earmark, left)
			}
		}
		if len(b.Earmark) >= b.Needs {
			t.Fatalf("blocked although all it needs is free: %+v", b)
		}
		enough := slices.Clone(b.Earmark)
		if len(r.Queue) > 0 {
			for i := range b.Needs - len(b.Earmark) {
				enough = append(enough, slot.ID{Node: "more", Position: i})
			}
		} else {
			for _, p := range r.Placements {
				if p.Job == b.Job {
					enough = p.Slots
				}
			}
		}
		then := plan(t, r, now, enough)
		if len(then.Submit) == 0 || len(r.Queue) > 0 && then.Submit[0].Job != b.Job {
			t.Fatalf("%+v with %v free did not start: %+v", b, enough, then)
		}
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		check(t, rand.New(rand.NewPCG(a, b)))
	})
}

func TestPlanDoesNotModifyInputs(t *testing.T) {
	r := claim.Request{Placements: []claim.Placement{{Job: job(1), Slots: slots(0, 1)}}}
	free := slots(0, 1)
	got := plan(t, r, nil, free)
	got.Submit[0].Slots[0] = slot.ID{Node: "changed"}
	blocked := plan(t, claim.Request{Queue: jobs(1, 1, 1)}, nil, free).Blocked
	blocked.Earmark[0] = slot.ID{Node: "changed"}
	_ = append(blocked.Earmark, slot.ID{})
	if !slices.Equal(r.Placements[0].Slots, slots(0, 1)) || !slices.Equal(free, slots(0, 1)) {
		t.Errorf("%v, %v", r, free)
	}
}

func TestJobs(t *testing.T) {
	r := claim.Request{Queue: jobs(2, 1, 2, 3, 1)}
	if got := r.Jobs(); !slices.Equal(got, jobs(2, 1, 3)) {
		t.Error(got)
	}
	r = claim.Request{Placements: []claim.Placement{{Job: job(2)}, {Job: job(1)}}}
	if got := r.Jobs(); !slices.Equal(got, jobs(2, 1)) {
		t.Error(got)
	}
}
