package queue

import (
	"fmt"
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

// Result is what Plan finds.
type Result struct {
	// Submit are the jobs that start now, in order, with their slots.
	Submit []Placement
	// Blocked is nil if all that is not submitted starts now.
	Blocked *Blocked
}

// Validate returns a *field.Error if the request is no queue and no placements or both,
// places a job twice, or gives a job a slot twice.
func (r *Request) Validate() error {
	if (len(r.Queue) == 0) == (len(r.Placements) == 0) {
		return testbed.Refuse("Request.Queue", fmt.Sprintf("%d entries, beside %d placements", len(r.Queue), len(r.Placements)), "all that is given, or nothing")
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
	for _, job := range r.Queue {
		if !seen[job] {
			seen[job] = true
			jobs = append(jobs, job)
		}
	}
	for _, p := range r.Placements {
		jobs = append(jobs, p.Job)
	}
	return jobs
}

// Plan says what starts in the free slots, which are given by their index, each once.
// submitted are the jobs to leave out. A request that Validate refuses is refused.
func Plan(r Request, submitted map[testbed.Name]bool, free []slot.ID) (Result, error) {
	if err := r.Validate(); err != nil {
		return Result{}, err
	}
	if len(r.Queue) > 0 {
		return planQueue(r.Queue, submitted, free), nil
	}
	return planPlacements(&r, submitted, free), nil
}

// Feasible says whether all jobs would start, one after the other if need be, on a
// testbed of these slots that nobody else uses; if not, which would not. submitted are
// the jobs that have started already.
func Feasible(r Request, submitted map[testbed.Name]bool, slots []slot.ID) (*Blocked, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	done := make(map[testbed.Name]bool, len(submitted))
	for job, is := range submitted {
		done[job] = is
	}
	for {
		result, err := Plan(r, done, slots)
		if err != nil || len(result.Submit) == 0 {
			return result.Blocked, err
		}
		for _, p := range result.Submit {
			done[p.Job] = true
		}
	}
}

// Assign returns the slots that each job of the queue gets, without those whose entries
// did not all get one.
func Assign(queue []testbed.Name, submitted map[testbed.Name]bool, free []slot.ID) map[testbed.Name][]slot.ID {
	got := make(map[testbed.Name][]slot.ID)
	for i, job := range remaining(queue, submitted) {
		switch slots, known := got[job]; {
		case i >= len(free):
			got[job] = nil
		case !known || slots != nil:
			got[job] = append(slots, free[i])
		}
	}
	for job, slots := range got {
		if slots == nil {
			delete(got, job)
		}
	}
	return got
}

// remaining are the entries of jobs that are not submitted.
func remaining(queue []testbed.Name, submitted map[testbed.Name]bool) []testbed.Name {
	rest := make([]testbed.Name, 0, len(queue))
	for _, job := range queue {
		if !submitted[job] {
			rest = append(rest, job)
		}
	}
	return rest
}

func planQueue(queue []testbed.Name, submitted map[testbed.Name]bool, free []slot.ID) Result {
	got := Assign(queue, submitted, free)
	var result Result
	started := make(map[testbed.Name]bool)
	taken := make(map[slot.ID]bool)
	rest := remaining(queue, submitted)
	for _, job := range rest {
		if started[job] {
			continue
		}
		slots, all := got[job]
		if !all {
			result.Blocked = blockedInQueue(job, remaining(rest, started), without(free, taken))
			break
		}
		started[job] = true
		result.Submit = append(result.Submit, Placement{Job: job, Slots: slots})
		for _, id := range slots {
			taken[id] = true
		}
	}
	return result
}

// blockedInQueue says what the job waits for: rest are the entries that are left, free
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

func without(slots []slot.ID, taken map[slot.ID]bool) []slot.ID {
	rest := make([]slot.ID, 0, len(slots))
	for _, id := range slots {
		if !taken[id] {
			rest = append(rest, id)
		}
	}
	return rest
}

func planPlacements(r *Request, submitted map[testbed.Name]bool, free []slot.ID) Result {
	left := make(map[slot.ID]bool, len(free))
	for _, id := range free {
		left[id] = true
	}
	var result Result
	var blocked *Placement
	for i := range r.Placements {
		p := &r.Placements[i]
		if submitted[p.Job] {
			continue
		}
		if fits(p, left) {
			result.Submit = append(result.Submit, Placement{Job: p.Job, Slots: slices.Clone(p.Slots)})
			for _, id := range p.Slots {
				left[id] = false
			}
			continue
		}
		if blocked == nil {
			blocked = p
		}
		if !r.Relaxed {
			break
		}
	}
	if blocked != nil {
		// Those that started after it, being relaxed, have taken theirs.
		b := &Blocked{Job: blocked.Job, Needs: len(blocked.Slots)}
		for _, id := range blocked.Slots {
			if left[id] {
				b.Earmark = append(b.Earmark, id)
			}
		}
		result.Blocked = b
	}
	return result
}

// fits says whether all of the placement's slots are left.
func fits(p *Placement, left map[slot.ID]bool) bool {
	for _, id := range p.Slots {
		if !left[id] {
			return false
		}
	}
	return len(p.Slots) > 0
}
