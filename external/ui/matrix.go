package ui

import (
	"maps"
	"net/http"
	"slices"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/profiler"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// matrixView has a matrix of each namespace that has one.
type matrixView struct {
	Parts []matrixPart
	// Unreadable has why the data of a job is no row, by job.
	Unreadable map[string]string
}

// matrixPart has the run times of each job, by row, beside each other, by column. Jobs are named
// without their namespace; those that are there have a page.
type matrixPart struct {
	Namespace string
	Jobs      []string
	Pages     map[string]string
	Rows      [][]matrixCell
	Plan      *colocate.Plan // which jobs are best put together; nil if there is none to tell
}

// matrixCell is nothing where Count is 0. Against is how many times the row's least the mean is,
// and Heat goes from 0, the least, to 5, twice that and more.
type matrixCell struct {
	colocate.Cell
	Against float64
	Heat    int
	Self    bool
}

func (s *site) matrix(w http.ResponseWriter, r *http.Request) {
	jobs, err := client.Collect(s.api(r).Jobs(r.Context(), r.URL.Query().Get("namespace")))
	if err != nil {
		s.refuse(w, r, "List jobs", err)
		return
	}
	v := matrixView{Unreadable: make(map[string]string)}
	for len(jobs) > 0 { // they are in the order of their namespaces
		n := slices.IndexFunc(jobs, func(j wire.Job) bool { return j.Namespace != jobs[0].Namespace })
		if n < 0 {
			n = len(jobs)
		}
		if part := v.part(jobs[:n]); len(part.Jobs) > 0 {
			v.Parts = append(v.Parts, part)
		}
		jobs = jobs[n:]
	}
	s.show(w, r, http.StatusOK, page{Name: "matrix", Title: "Matrix", Body: v})
}

// mostPaired bounds what a page is made to compute: 2^16 sets of jobs.
const mostPaired = 16

// part arranges the jobs of one namespace: those with a row, or in another's.
func (v *matrixView) part(jobs []wire.Job) matrixPart {
	var m colocate.Matrix
	p := matrixPart{Namespace: jobs[0].Namespace, Pages: make(map[string]string)}
	for i := range jobs {
		j := &jobs[i]
		p.Pages[j.Name] = href(wire.Jobs, key(j))
		row, err := profiler.RowOf(j)
		if err == nil {
			err = m.Set(j.Name, row)
		}
		if err != nil {
			v.Unreadable[key(j)] = err.Error()
		} else if len(row) > 0 {
			p.Jobs = slices.AppendSeq(append(p.Jobs, j.Name), maps.Keys(row))
		}
	}
	slices.Sort(p.Jobs)
	p.Jobs = slices.Compact(p.Jobs)
	for _, job := range p.Jobs {
		p.Rows = append(p.Rows, matrixCells(&m, job, p.Jobs))
	}
	if len(p.Jobs) >= 2 && len(p.Jobs) <= mostPaired {
		if plan, err := m.Plan(p.Jobs); err == nil {
			p.Plan = &plan
		}
	}
	return p
}

func matrixCells(m *colocate.Matrix, job string, names []string) (cells []matrixCell) {
	least := 0.0
	for _, other := range names {
		c := m.At(job, other)
		if c.Count > 0 && (least == 0 || c.Mean < least) {
			least = c.Mean
		}
		cells = append(cells, matrixCell{Cell: c, Self: job == other})
	}
	for i := range cells {
		if c := &cells[i]; c.Count > 0 && least > 0 {
			c.Against = c.Mean / least
			c.Heat = int(5*(min(c.Against, 2)-1) + .5)
		}
	}
	return cells
}
