package claim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/queue"
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
	Request   queue.Request
	// Submitted are jobs of the request to leave out: they have run, or must not start
	// now. Those with a claim are left out anyway.
	Submitted map[testbed.Name]bool
	// JobUIDs has the UID of each job that is not left out.
	JobUIDs map[testbed.Name]string
}

// Validate returns a *field.Error for a scheduling that Grant would refuse.
func (s *Scheduling) Validate() error {
	if s.UID == "" {
		return testbed.Refuse("Scheduling.UID", s.UID, "set")
	}
	if err := s.Request.Validate(); err != nil {
		return err
	}
	jobs := make(map[string]testbed.Name)
	for _, job := range s.Request.Jobs() {
		if s.Submitted[job] {
			continue
		}
		uid := s.JobUIDs[job]
		if uid == "" {
			return testbed.Refuse("Scheduling.JobUIDs", job, "there with a UID")
		}
		if _, twice := jobs[uid]; twice {
			return testbed.Refuse("Scheduling.JobUIDs", uid, "one job's")
		}
		jobs[uid] = job
	}
	return nil
}

// Slots are those of a testbed, by their index, such as slot.Order.Slots and
// slot.Table.FreeTo return.
type Slots struct {
	// All are those that somebody could have some day; Free those that nobody is in now.
	// Claimed ones among Free are left out.
	All, Free []slot.ID
}

// Table has the claims on one testbed's slots. It is not safe for concurrent use. Make
// one with Rebuild.
type Table struct {
	claims    map[string]Claim
	owner     map[slot.ID]string
	exclusive string
}

// Rebuild makes a table of the claims that are stored, and the UID of the scheduling
// that has the testbed alone, empty if none has. Claims that contradict each other are a
// *field.Error.
func Rebuild(claims []Claim, exclusiveFor string) (*Table, error) {
	t := &Table{
		claims: make(map[string]Claim, len(claims)), owner: make(map[slot.ID]string), exclusive: exclusiveFor,
	}
	for _, c := range claims {
		if c.JobUID == "" {
			return nil, testbed.Refuse("Claim.JobUID", c.JobUID, "set")
		}
		if _, twice := t.claims[c.JobUID]; twice {
			return nil, testbed.Refuse("Claim.JobUID", c.JobUID, "there once")
		}
		for _, id := range c.Slots {
			if _, twice := t.owner[id]; twice {
				return nil, testbed.Refuse("Claim.Slots", id, "claimed once")
			}
			t.owner[id] = c.JobUID
		}
		t.claims[c.JobUID] = c.clone()
	}
	return t, nil
}

func (c Claim) clone() Claim {
	c.Slots = slices.Clone(c.Slots)
	return c
}

// Claims returns all claims, the oldest first, then by the job's UID: what is to be stored.
func (t *Table) Claims() []Claim {
	claims := make([]Claim, 0, len(t.claims))
	for _, c := range t.claims {
		claims = append(claims, c.clone())
	}
	slices.SortFunc(claims, func(a, b Claim) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.JobUID, b.JobUID))
	})
	return claims
}

// ExclusiveFor returns the UID of the scheduling that has the testbed alone, empty if
// none has.
func (t *Table) ExclusiveFor() string { return t.exclusive }

// Of returns the job's claim.
func (t *Table) Of(jobUID string) (Claim, bool) {
	c, ok := t.claims[jobUID]
	return c.clone(), ok
}

// Owner returns the UID of the job that claims the slot, empty if none does.
func (t *Table) Owner(id slot.ID) string { return t.owner[id] }

// Release ends the job's claim, and says whether there was one.
func (t *Table) Release(jobUID string) bool {
	c, ok := t.claims[jobUID]
	for _, id := range c.Slots {
		delete(t.owner, id)
	}
	delete(t.claims, jobUID)
	return ok
}

// Unlock ends that the scheduling has the testbed alone, and says whether it had.
func (t *Table) Unlock(schedulingUID string) bool {
	if schedulingUID == "" || t.exclusive != schedulingUID {
		return false
	}
	t.exclusive = ""
	return true
}

// Grant claims slots for the jobs of the schedulings, and returns the new claims in the
// order in which they were granted. They are to be stored with the others before anything
// is created for them; a table whose claims could not be stored is of no more use. A
// scheduling that Validate refuses is a *field.Error, and nothing is granted then.
func (t *Table) Grant(schedulings []Scheduling, slots Slots, now time.Time) ([]Claim, error) {
	order := make([]*Scheduling, len(schedulings))
	for i := range schedulings {
		order[i] = &schedulings[i]
		if err := order[i].Validate(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(order, func(a, b *Scheduling) int { return a.Compare(b.Precedence) })

	free := t.unclaimed(slots.Free)
	all := make(map[slot.ID]bool, len(slots.All))
	for _, id := range slots.All {
		all[id] = true
	}
	var granted []Claim
	for _, s := range order {
		if t.exclusive != "" && t.exclusive != s.UID {
			continue
		}
		plan, err := queue.Plan(s.Request, t.leftOut(s), free)
		if err != nil {
			return nil, err
		}
		if !servable(s, &plan, all) {
			continue
		}
		if s.Exclusive && t.exclusive == "" {
			if len(t.claims) > 0 {
				break
			}
			t.exclusive = s.UID
		}
		for _, p := range plan.Submit {
			c := Claim{
				JobUID: s.JobUIDs[p.Job], Job: p.Job, SchedulingUID: s.UID, Scheduling: s.Name, Slots: p.Slots, Since: now,
			}
			t.add(c)
			granted = append(granted, c.clone())
		}
		free = t.unclaimed(free)
		if plan.Blocked != nil && possible(s, plan.Blocked, all) {
			free = without(free, plan.Blocked.Earmark)
		}
	}
	return granted, nil
}

func (t *Table) add(c Claim) {
	t.claims[c.JobUID] = c
	for _, id := range c.Slots {
		t.owner[id] = c.JobUID
	}
}

// unclaimed returns those of the slots that nobody claims, each once.
func (t *Table) unclaimed(slots []slot.ID) []slot.ID {
	rest := make([]slot.ID, 0, len(slots))
	seen := make(map[slot.ID]bool, len(slots))
	for _, id := range slots {
		if _, claimed := t.owner[id]; !claimed && !seen[id] {
			seen[id] = true
			rest = append(rest, id)
		}
	}
	return rest
}

// leftOut are the jobs of the scheduling that must not be given slots now.
func (t *Table) leftOut(s *Scheduling) map[testbed.Name]bool {
	out := maps.Clone(s.Submitted)
	if out == nil {
		out = make(map[testbed.Name]bool)
	}
	for job, uid := range s.JobUIDs {
		if _, claimed := t.claims[uid]; claimed {
			out[job] = true
		}
	}
	return out
}

// servable says whether the scheduling wants something that it can get, now or later.
func servable(s *Scheduling, plan *queue.Result, all map[slot.ID]bool) bool {
	return len(plan.Submit) > 0 || plan.Blocked != nil && possible(s, plan.Blocked, all)
}

// possible says whether the whole testbed would do for the job: one that it would not do
// for must not keep slots from others.
func possible(s *Scheduling, blocked *queue.Blocked, all map[slot.ID]bool) bool {
	if len(s.Request.Queue) > 0 {
		return blocked.Needs <= len(all)
	}
	for _, p := range s.Request.Placements {
		if p.Job != blocked.Job {
			continue
		}
		for _, id := range p.Slots {
			if !all[id] {
				return false
			}
		}
		return len(p.Slots) > 0
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
