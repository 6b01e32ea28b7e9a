package ui

import (
	"context"
	"net/http"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// overviewView is everything there is. Where the caller may not see a kind, or it could not
// be read, there is a problem in its place.
type overviewView struct {
	Testbeds    []gridView
	Schedulings []wire.Scheduling
	Jobs        []wire.Job
	Problems    map[string]*problemView // by kind
}

func (s *site) overview(w http.ResponseWriter, r *http.Request) {
	ns, ask := r.URL.Query().Get("namespace"), s.api(r)
	v := overviewView{Problems: make(map[string]*problemView)}
	testbeds, noTestbeds := withSlots(r.Context(), ask, ns)
	for _, t := range testbeds {
		v.Testbeds = append(v.Testbeds, newGrid(t))
	}
	var noSchedulings, noJobs error
	v.Schedulings, noSchedulings = client.Collect(ask.Schedulings(r.Context(), ns))
	v.Jobs, noJobs = client.Collect(ask.Jobs(r.Context(), ns))
	for _, failed := range []struct {
		err        error
		kind, what string
	}{{noTestbeds, "testbeds", "List test beds"}, {noSchedulings, "schedulings", "List schedulings"}, {noJobs, "jobs", "List jobs"}} {
		if s.toLogin(w, r, failed.err) {
			return
		}
		if failed.err != nil {
			v.Problems[failed.kind] = s.problem(r, failed.what, failed.err)
		}
	}
	s.show(w, r, http.StatusOK, page{Name: "overview", Title: "Overview", Body: v})
}

// withSlots are the test beds of a namespace with their slots.
func withSlots(ctx context.Context, ask *client.Client, namespace string) ([]wire.Testbed, error) {
	testbeds, err := client.Collect(ask.Testbeds(ctx, namespace))
	all := testbeds[:0]
	for _, t := range testbeds {
		t, err := ask.Testbed(ctx, t.Namespace, t.Name)
		if wire.IsStatus(err, http.StatusNotFound) {
			continue // it has gone since
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, err
}
