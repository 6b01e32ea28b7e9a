package claim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Request is what a scheduling asks for: a queue or placements, not both.
type Request struct {
	// Queue names a job once for each slot that it wants.
	Queue []testbed.Name
	// Placements are jobs with their slots, each job once.
	Placements []Placement
	// Relaxed lets placements start before earlier ones whose slots are not free.
	Relaxed bool
}

// Placement is a job with the slots that it gets, or wants.
type Placement struct {
	Job testbed.Name
	// Slots are different ones. A wanted placement without slots never fits.
	Slots []slot.ID
}

// Blocked is the first job that cannot start.
type Blocked struct {
	Job testbed.Name
	// Needs is how many free slots it takes for the job to start: of a queue, as many
	// as there are entries up to the job's last; of placements, the job's.
	Needs int
	// Earmark are the free slots that it counts on: of a queue the first Needs, of
	// placements those of its own that are free.
	Earmark []slot.ID
}

// validate returns a *field.Error if the request is no queue and no placements or both,
// places a job twice, or gives a job a slot twice.
func (r *Request) validate() error {
	if (len(r.Queue) == 0) == (len(r.Placements) == 0) {
		given := fmt.Sprintf("%d entries, beside %d placements", len(r.Queue), len(r.Placements))
		return testbed.Refuse("Request.Queue", given, "all that is given, or nothing")
	}
	jobs := make(map[testbed.Name]bool, len(r.Placements))
	for _, p := range r.Placements {
		if jobs[p.Job] {
			return testbed.Refuse("Placement.Job", p.Job, "placed once")
		}
		jobs[p.Job] = true
		slots := make(map[slot.ID]bool, len(p.Slots))
		for _, id := range p.Slots {
			if slots[id] {
				return testbed.Refuse("Placement.Slots", id, "given once")
			}
			slots[id] = true
		}
	}
	return nil
}

// Jobs returns the jobs in the order of their first occurrence.
func (r *Request) Jobs() []testbed.Name {
	var jobs []testbed.Name
	seen := make(map[testbed.Name]bool)
	add := func(job testbed.Name) {
		if !seen[job] {
			seen[job] = true
			jobs = append(jobs, job)
		}
	}
	for _, job := range r.Queue {
		add(job)
	}
	for _, p := range r.Placements {
		add(p.Job)
	}
	return jobs
}

// Plan returns the jobs that start in the free slots, in order, each with its slots, and the first
// that cannot, nil if all start. The free slots are given by their index, each once; submitted
// are the jobs to leave out. The error is a *field.Error for a request with
// no queue and no placements or both, or that places a job twice, or gives a job a slot twice.
func Plan(r Request, submitted map[testbed.Name]bool, free []slot.ID) (submit []Placement, blocked *Blocked, err error) {
	if err := r.validate(); err != nil {
		return nil, nil, err
	}
	if len(r.Queue) > 0 {
		submit, blocked = planQueue(r.Queue, submitted, free)
	} else {
		submit, blocked = planPlacements(&r, submitted, free)
	}
	return submit, blocked, nil
}

// Feasible returns the job that would not start on a testbed of these slots that no other
// scheduling uses, nil if all would, one after the other if need be. submitted are the jobs
// that have started already.
func Feasible(r Request, submitted map[testbed.Name]bool, slots []slot.ID) (*Blocked, error) {
	done := maps.Clone(submitted)
	if done == nil {
		done = make(map[testbed.Name]bool)
	}
	for {
		submit, blocked, err := Plan(r, done, slots)
		if err != nil || len(submit) == 0 {
			return blocked, err
		}
		for _, p := range submit {
			done[p.Job] = true
		}
	}
}

// remaining returns the entries of jobs that are not submitted.
func remaining(queue []testbed.Name, submitted map[testbed.Name]bool) []testbed.Name {
	return slices.DeleteFunc(slices.Clone(queue), func(job testbed.Name) bool { return submitted[job] })
}

// planQueue goes through the entries that are not submitted: a job starts if there is a free
// slot for each of its entries, and no job before it was without.
func planQueue(queue []testbed.Name, submitted map[testbed.Name]bool, free []slot.ID) ([]Placement, *Blocked) {
	rest := remaining(queue, submitted)
	got, needs := make(map[testbed.Name][]slot.ID), make(map[testbed.Name]int)
	var jobs []testbed.Name
	for i, job := range rest {
		if needs[job] == 0 {
			jobs = append(jobs, job)
		}
		needs[job] = i + 1
		if i < len(free) {
			got[job] = append(got[job], free[i])
		}
	}
	var submit []Placement
	started, taken := make(map[testbed.Name]bool), make(map[slot.ID]bool)
	for _, job := range jobs {
		if needs[job] > len(free) {
			left := slices.DeleteFunc(slices.Clone(free), func(id slot.ID) bool { return taken[id] })
			return submit, blockedInQueue(job, remaining(rest, started), left)
		}
		started[job] = true
		submit = append(submit, Placement{Job: job, Slots: got[job]})
		for _, id := range got[job] {
			taken[id] = true
		}
	}
	return submit, nil
}

// blockedInQueue returns what the job waits for: rest are the entries that are left, free
// the slots that are.
func blockedInQueue(job testbed.Name, rest []testbed.Name, free []slot.ID) *Blocked {
	b := &Blocked{Job: job}
	for i, other := range rest {
		if other == job {
			b.Needs = i + 1
		}
	}
	b.Earmark = free[:min(b.Needs, len(free))]
	return b
}

func planPlacements(r *Request, submitted map[testbed.Name]bool, free []slot.ID) (submit []Placement, b *Blocked) {
	left := make(map[slot.ID]bool, len(free))
	for _, id := range free {
		left[id] = true
	}
	var blocked *Placement
	for i := range r.Placements {
		p := &r.Placements[i]
		switch {
		case submitted[p.Job]:
			continue
		case fits(p, left):
			submit = append(submit, Placement{Job: p.Job, Slots: slices.Clone(p.Slots)})
			for _, id := range p.Slots {
				left[id] = false
			}
			continue
		case blocked == nil:
			blocked = p
		}
		if !r.Relaxed {
			break
		}
	}
	if blocked == nil {
		return submit, nil
	}
	// Those that started after it, being relaxed, have taken theirs.
	b = &Blocked{Job: blocked.Job, Needs: len(blocked.Slots)}
	for _, id := range blocked.Slots {
		if left[id] {
			b.Earmark = append(b.Earmark, id)
		}
	}
	return submit, b
}

// fits reports whether all of the placement's slots are left.
func fits(p *Placement, left map[slot.ID]bool) bool {
	return len(p.Slots) > 0 && !slices.ContainsFunc(p.Slots, func(id slot.ID) bool { return !left[id] })
}
