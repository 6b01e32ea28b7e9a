package claim

import (
	"cmp"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
)

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
