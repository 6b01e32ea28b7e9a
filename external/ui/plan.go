package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// planView is a plan, or why there is none, by the form's rows.
type planView struct {
	Summary  string        `json:"summary"`
	Feasible bool          `json:"feasible"`
	Problems []planProblem `json:"problems"`
	Rows     []planRow     `json:"rows"`
}

// planProblem is a cause at a row, counted from 0, or at none: -1.
type planProblem struct {
	Entry   int    `json:"entry"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

type planRow struct {
	Entry int      `json:"entry"`
	Job   string   `json:"job"`
	Slots []string `json:"slots"`
	Now   bool     `json:"now"`
}

// List is the slots in words.
func (r planRow) List() string { return strings.Join(r.Slots, " ") }

// entryOf finds the row that a field of the scheduling, or of entries, comes from.
func (d *draft) entryOf(field string) int {
	base, rest, ok := strings.Cut(field, "[")
	number, _, closed := strings.Cut(rest, "]")
	n, err := strconv.Atoi(number)
	if !ok || !closed || err != nil {
		return -1
	}
	if base == "entries" {
		return n
	}
	for i, e := range d.Entries {
		width := 1
		switch {
		case e.Job == "" && e.Slots == "":
			continue
		case base == "queue":
			width, _ = strconv.Atoi(e.Times)
		case base != "slots.jobs":
			return -1
		}
		if n < width {
			return i
		}
		n -= width
	}
	return -1
}

// rowOf finds the row of a job.
func (d *draft) rowOf(job string) int {
	return slices.IndexFunc(d.Entries, func(e entry) bool {
		return e.Job == job || d.namespace()+"/"+e.Job == job
	})
}

// ask asks for the plan of the form. The error is nil if the answer is that there is no plan.
func (s *site) ask(r *http.Request, d *draft) (*planView, error) {
	sched, causes := d.scheduling()
	if len(causes) > 0 {
		return d.unplannable("The form cannot be sent yet.", causes), nil
	}
	plan, err := s.api(r).Plan(r.Context(), sched.Namespace, sched.Name, sched.SchedulingSpec)
	if p := problemOf(err); err != nil && p.Status == http.StatusUnprocessableEntity {
		return d.unplannable(p.Detail, p.Causes), nil
	}
	if err != nil {
		return nil, err
	}
	return d.planned(&plan), nil
}

func (d *draft) unplannable(summary string, causes []wire.Cause) *planView {
	v := &planView{Summary: cmp.Or(summary, "This is not possible."), Problems: []planProblem{}, Rows: []planRow{}}
	for _, c := range causes {
		v.Problems = append(v.Problems, planProblem{Entry: d.entryOf(c.Field), Field: c.Field, Message: c.Message})
	}
	return v
}

func (d *draft) planned(plan *wire.Plan) *planView {
	v := d.unplannable("", plan.Problems)
	v.Feasible = plan.Feasible
	now := 0
	for _, p := range plan.Plan {
		v.Rows = append(v.Rows, planRow{Entry: d.rowOf(p.Job), Job: p.Job, Slots: p.Slots, Now: p.Now})
		if p.Now {
			now++
		}
	}
	switch {
	case !plan.Feasible:
		v.Summary = "It can never run like this."
	case now == len(plan.Plan) && now == 1:
		v.Summary = "The job would start at once."
	case now == len(plan.Plan):
		v.Summary = fmt.Sprintf("All %d jobs would start at once.", now)
	default:
		v.Summary = fmt.Sprintf("%d of %s would start at once; the others wait for slots.", now, plural(len(plan.Plan), "job", "jobs"))
	}
	return v
}

// plan answers with the form and its plan, or with the plan alone as JSON.
func (s *site) plan(w http.ResponseWriter, r *http.Request, d draft) {
	plan, err := s.ask(r, &d)
	if r.Header.Get("Accept") != "application/json" {
		s.showBuilder(w, r, http.StatusOK, d, plan, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		p := s.problem(r, "Plan", err).Problem
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(p) // the caller may have gone
		return
	}
	_ = json.NewEncoder(w).Encode(plan)
}
