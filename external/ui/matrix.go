package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// matrixView has a matrix of each namespace that has one.
type matrixView struct {
	Parts []matrixPart
	// Unreadable are the jobs whose data is no row.
	Unreadable []unreadable
}

// matrixPart has the mean run time of each job, by row, beside each other, by column. Rows
// name jobs of their own namespace, without it.
type matrixPart struct {
	Namespace string
	Jobs      []matrixJob
	Rows      []matrixRow
	Plan      *pairingView
}

type matrixJob struct{ Name, Href string }

type matrixRow struct {
	matrixJob
	Cells []matrixCell
}

// matrixCell is nothing where Count is 0. Heat goes from 0, the row's least, to 5, twice
// that and more.
type matrixCell struct {
	Count                 int
	Mean, Spread, Against string
	Heat                  int
	Self                  bool
}

type unreadable struct{ Job, Why string }

// pairingView is which jobs are best put together.
type pairingView struct {
	Pairs   []colocate.Pair
	Longest string
	Unknown int
}

func (s *site) matrix(w http.ResponseWriter, r *http.Request) {
	jobs, err := list[wire.Job](s.api(r), wire.Jobs, r.URL.Query().Get("namespace"))
	if err != nil {
		s.refuse(w, r, "List jobs", err)
		return
	}
	s.show(w, r, http.StatusOK, page{Name: "matrix", Title: "Matrix", Body: newMatrixView(jobs, s.config.Key)})
}

// newMatrixView arranges what the jobs' data has at the key. The jobs are in the order of
// their namespaces.
func newMatrixView(jobs []wire.Job, key string) matrixView {
	var v matrixView
	for len(jobs) > 0 {
		n := 1
		for n < len(jobs) && jobs[n].Namespace == jobs[0].Namespace {
			n++
		}
		if part := v.part(jobs[:n], key); len(part.Jobs) > 0 {
			v.Parts = append(v.Parts, part)
		}
		jobs = jobs[n:]
	}
	return v
}

// part arranges the jobs of one namespace.
func (v *matrixView) part(jobs []wire.Job, key string) matrixPart {
	var (
		m    colocate.Matrix
		href = make(map[string]string)
		has  []string // jobs with a row, or in another's
	)
	for i := range jobs {
		j := &jobs[i]
		href[j.Name] = objectHref(wire.Jobs, j.Namespace, j.Name)
		row, err := rowOf(j.External, key)
		if err == nil {
			err = m.Set(j.Name, row)
		}
		if err != nil {
			v.Unreadable = append(v.Unreadable, unreadable{Job: j.Namespace + "/" + j.Name, Why: err.Error()})
			continue
		}
		if len(row) > 0 {
			has = append(has, j.Name)
			has = slices.AppendSeq(has, maps.Keys(row))
		}
	}
	slices.Sort(has)
	names := slices.Compact(has)
	p := matrixPart{Namespace: jobs[0].Namespace, Plan: pairing(&m, names)}
	for _, name := range names {
		p.Jobs = append(p.Jobs, matrixJob{Name: name, Href: href[name]})
	}
	for _, job := range p.Jobs {
		p.Rows = append(p.Rows, matrixRow{matrixJob: job, Cells: matrixCells(&m, job.Name, names)})
	}
	return p
}

// rowOf reads a job's row of the matrix; without any it is empty.
func rowOf(external json.RawMessage, key string) (colocate.Row, error) {
	if len(external) == 0 {
		return nil, nil
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(external, &data); err != nil {
		return nil, err
	}
	if len(data[key]) == 0 {
		return nil, nil
	}
	return colocate.ParseRow(data[key])
}

func matrixCells(m *colocate.Matrix, job string, names []string) []matrixCell {
	least := 0.0
	for _, other := range names {
		if c := m.At(job, other); c.Count > 0 && (least == 0 || c.Mean < least) {
			least = c.Mean
		}
	}
	var cells []matrixCell
	for _, other := range names {
		c := m.At(job, other)
		cell := matrixCell{Count: c.Count, Mean: fmt.Sprintf("%.1f", c.Mean), Self: job == other}
		if c.Count > 1 {
			cell.Spread = fmt.Sprintf("±%.1f", c.SD())
		}
		if c.Count > 0 && least > 0 {
			slower := c.Mean / least
			cell.Against = fmt.Sprintf("×%.2f", slower)
			cell.Heat = int(5*(min(slower, 2)-1) + .5)
		}
		cells = append(cells, cell)
	}
	return cells
}

// mostPaired bounds what a page is made to compute: 2^16 sets of jobs.
const mostPaired = 16

// pairing returns the best way to put the jobs together, nil if there is none to tell.
func pairing(m *colocate.Matrix, names []string) *pairingView {
	if len(names) < 2 || len(names) > mostPaired {
		return nil
	}
	plan, err := m.Plan(names)
	if err != nil {
		return nil
	}
	return &pairingView{Pairs: plan.Pairs, Longest: fmt.Sprintf("%.1f s", plan.Longest), Unknown: plan.Unknown}
}
