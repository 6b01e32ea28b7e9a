package ui

import (
	"net/http"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// overviewView is everything there is. Where the caller may not see a kind, or it could not
// be read, there is a problem in its place.
type overviewView struct {
	Testbeds    []gridView
	Schedulings []schedulingRow
	Jobs        []jobRow

	TestbedsProblem, SchedulingsProblem, JobsProblem *problemView

	// What the script makes further rows of.
	NoTestbed    gridView
	NoScheduling schedulingRow
	NoJob        jobRow
}

func (s *site) overview(w http.ResponseWriter, r *http.Request) {
	ns, ask := r.URL.Query().Get("namespace"), s.api(r)
	v := overviewView{NoTestbed: newGrid(wire.Testbed{})}
	testbeds, testbedsErr := withSlots(ask, ns)
	schedulings, schedulingsErr := list[wire.Scheduling](ask, wire.Schedulings, ns)
	jobs, jobsErr := list[wire.Job](ask, wire.Jobs, ns)
	for _, failed := range []struct {
		err   error
		what  string
		where **problemView
	}{
		{testbedsErr, "List test beds", &v.TestbedsProblem},
		{schedulingsErr, "List schedulings", &v.SchedulingsProblem},
		{jobsErr, "List jobs", &v.JobsProblem},
	} {
		if s.toLogin(w, r, failed.err) {
			return
		}
		if failed.err != nil {
			*failed.where = &problemView{What: failed.what, Problem: s.judge(r, failed.err)}
		}
	}
	for _, t := range testbeds {
		v.Testbeds = append(v.Testbeds, newGrid(t))
	}
	for i := range schedulings {
		v.Schedulings = append(v.Schedulings, newSchedulingRow(&schedulings[i]))
	}
	for i := range jobs {
		v.Jobs = append(v.Jobs, newJobRow(&jobs[i]))
	}
	s.show(w, r, http.StatusOK, page{Name: "overview", Title: "Overview", Body: v})
}

// withSlots are the test beds of a namespace with their slots.
func withSlots(ask api, namespace string) ([]wire.Testbed, error) {
	testbeds, err := list[wire.Testbed](ask, wire.Testbeds, namespace)
	if err != nil {
		return nil, err
	}
	all := testbeds[:0]
	for _, t := range testbeds {
		err := ask.get(objectPath(wire.Testbeds, t.Namespace, t.Name)+"?slots=true", &t)
		if problemOf(err).Status == http.StatusNotFound {
			continue // it has gone since
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
