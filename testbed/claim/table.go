package claim

import (
	"cmp"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Claim is a job's right to slots, by a scheduling.
type Claim struct {
	JobUID        string
	Job           testbed.Name
	SchedulingUID string
	Scheduling    testbed.Name
	Slots         []slot.ID
	Since         time.Time
}

// Scheduling is one that has jobs to submit.
type Scheduling struct {
	Precedence
	UID       string
	Exclusive bool
	Request   Request
	// JobUIDs has the UID of each job that may start now. The request's other jobs are left
	// out: they have run, or must wait. Those with a claim are left out anyway.
	JobUIDs map[testbed.Name]string
}

// Validate returns a *field.Error for a scheduling that Grant would refuse.
func (s *Scheduling) Validate() error {
	if s.UID == "" {
		return testbed.Refuse("Scheduling.UID", s.UID, "set")
	}
	if err := s.Request.validate(); err != nil {
		return err
	}
	seen := make(map[string]bool, len(s.JobUIDs))
	for job, uid := range s.JobUIDs {
		if uid == "" {
			return testbed.Refuse("Scheduling.JobUIDs", job, "there with a UID")
		}
		if seen[uid] {
			return testbed.Refuse("Scheduling.JobUIDs", uid, "the UID of one job")
		}
		seen[uid] = true
	}
	return nil
}

// Table has the claims on one testbed's slots, as they are stored. It is not safe for
// concurrent use.
type Table struct {
	// Claims are all that there are, in the order in which they were granted.
	Claims []Claim
	// ExclusiveFor is the UID of the scheduling that has the testbed alone, empty if none has.
	ExclusiveFor string
}

// Grant claims slots for the jobs of the schedulings, appends the new claims to t.Claims in the
// order in which they were granted, and returns them. They are to be stored before anything is
// created for them; a table whose claims could not be stored is of no more use.
//
// all are the slots that a job could have some day, free those without a pod now, both by their
// index, as slot.Order.Slots and slot.Table.Free return them. Claims that contradict each
// other and a scheduling that Validate refuses are a *field.Error, and nothing is granted then.
func (t *Table) Grant(schedulings []Scheduling, all, free []slot.ID, now time.Time) ([]Claim, error) {
	g, err := newGranting(t, all)
	if err != nil {
		return nil, err
	}
	order := make([]*Scheduling, len(schedulings))
	for i := range schedulings {
		order[i] = &schedulings[i]
		if err := order[i].Validate(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(order, func(a, b *Scheduling) int { return a.Compare(b.Precedence) })
	before := len(t.Claims)
	free = g.unclaimed(free)
	for _, s := range order {
		if t.ExclusiveFor != "" && t.ExclusiveFor != s.UID {
			continue
		}
		submit, blocked, err := Plan(s.Request, g.leftOut(s), free)
		if err != nil {
			return nil, err
		}
		waits := blocked != nil && g.possible(s, blocked)
		if len(submit) == 0 && !waits { // it wants nothing that it can get, now or later
			continue
		}
		if s.Exclusive && t.ExclusiveFor == "" {
			if len(t.Claims) > 0 {
				break
			}
			t.ExclusiveFor = s.UID
		}
		for _, p := range submit {
			g.add(Claim{
				JobUID: s.JobUIDs[p.Job], Job: p.Job, SchedulingUID: s.UID, Scheduling: s.Name, Slots: p.Slots, Since: now,
			})
		}
		free = g.unclaimed(free)
		if waits {
			free = without(free, blocked.Earmark)
		}
	}
	return slices.Clip(t.Claims[before:]), nil
}

// granting is a Grant under way: what is claimed, and all slots that there are.
type granting struct {
	*Table
	jobs    map[string]bool
	claimed map[slot.ID]bool
	all     map[slot.ID]bool
}

func newGranting(t *Table, all []slot.ID) (*granting, error) {
	g := &granting{t, make(map[string]bool), make(map[slot.ID]bool), make(map[slot.ID]bool, len(all))}
	for _, id := range all {
		g.all[id] = true
	}
	for i := range t.Claims {
		c := &t.Claims[i]
		if c.JobUID == "" {
			return nil, testbed.Refuse("Claim.JobUID", c.JobUID, "set")
		}
		if g.jobs[c.JobUID] {
			return nil, testbed.Refuse("Claim.JobUID", c.JobUID, "there once")
		}
		for _, id := range c.Slots {
			if g.claimed[id] {
				return nil, testbed.Refuse("Claim.Slots", id, "claimed once")
			}
			g.claimed[id] = true
		}
		g.jobs[c.JobUID] = true
	}
	return g, nil
}

func (g *granting) add(c Claim) {
	g.Claims = append(g.Claims, c)
	g.jobs[c.JobUID] = true
	for _, id := range c.Slots {
		g.claimed[id] = true
	}
}

// unclaimed returns the slots that no job claims, each once.
func (g *granting) unclaimed(slots []slot.ID) []slot.ID {
	rest := make([]slot.ID, 0, len(slots))
	seen := make(map[slot.ID]bool, len(slots))
	for _, id := range slots {
		if !g.claimed[id] && !seen[id] {
			seen[id] = true
			rest = append(rest, id)
		}
	}
	return rest
}

// leftOut returns the jobs of the scheduling that must not be given slots now.
func (g *granting) leftOut(s *Scheduling) map[testbed.Name]bool {
	out := make(map[testbed.Name]bool)
	for _, job := range s.Request.Jobs() {
		uid, may := s.JobUIDs[job]
		out[job] = !may || g.jobs[uid]
	}
	return out
}

// possible reports whether the whole testbed would do for the job: one that it would not do
// for must not keep slots from others.
func (g *granting) possible(s *Scheduling, blocked *Blocked) bool {
	if len(s.Request.Queue) > 0 {
		return blocked.Needs <= len(g.all)
	}
	for _, p := range s.Request.Placements {
		if p.Job == blocked.Job {
			missing := slices.ContainsFunc(p.Slots, func(id slot.ID) bool { return !g.all[id] })
			return len(p.Slots) > 0 && !missing
		}
	}
	return false
}

func without(slots, taken []slot.ID) []slot.ID {
	gone := make(map[slot.ID]bool, len(taken))
	for _, id := range taken {
		gone[id] = true
	}
	return slices.DeleteFunc(slots, func(id slot.ID) bool { return gone[id] })
}

// Precedence is what schedulings are served by.
type Precedence struct {
	Priority int32
	Created  time.Time
	Name     testbed.Name
}

// Compare is negative if p is served before q: higher priority, then older, then by name.
func (p Precedence) Compare(q Precedence) int {
	return cmp.Or(cmp.Compare(q.Priority, p.Priority), p.Created.Compare(q.Created), p.Name.Compare(q.Name))
}

// Applicant is a scheduling that wants jobs which it does not have.
type Applicant struct {
	Precedence
	Jobs []testbed.Name
}

// Acquire reports which applicants get their jobs, all of them, in the order of the
// applicants. ready reports whether a job may be had. A job that an earlier applicant wants
// is not given to a later one, even if the earlier one gets nothing yet; so an applicant
// whose jobs do not all exist should not be among them.
func Acquire(applicants []Applicant, ready func(testbed.Name) bool) []bool {
	order := make([]int, len(applicants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return applicants[i].Compare(applicants[j].Precedence)
	})
	granted := make([]bool, len(applicants))
	wanted := make(map[testbed.Name]bool)
	for _, i := range order {
		all := true
		for _, job := range applicants[i].Jobs {
			all = all && !wanted[job] && ready(job)
		}
		for _, job := range applicants[i].Jobs {
			wanted[job] = true
		}
		granted[i] = all
	}
	return granted
}
