package ui

import (
	"net/http"
	"slices"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
)

func (s *site) scheduling(w http.ResponseWriter, r *http.Request) {
	sched, ok := read(s, w, r, "Show the scheduling ", (*client.Client).Scheduling)
	if ok {
		s.show(w, r, http.StatusOK, page{Name: "scheduling", Title: "Scheduling " + key(sched), Body: sched})
	}
}

// ending is something that cannot be undone: what is asked before, and what is done then.
type ending struct {
	Title, Text, Verb, Back string
	do                      func() error
	done, leadsTo           string
}

// end asks, and does what was asked once a person has said so.
func (s *site) end(w http.ResponseWriter, r *http.Request) {
	e, ok := s.endingOf(r)
	if !ok {
		s.lost(w, r)
		return
	}
	p := page{Name: "confirm", Title: e.Title, Body: e}
	status := http.StatusOK
	if r.Method == http.MethodPost {
		err := e.do()
		if err == nil {
			redirect(w, r, e.leadsTo, e.done)
			return
		}
		if s.toLogin(w, r, err) {
			return
		}
		p.Problem = s.problem(r, e.Verb, err)
		status = p.Problem.Status
	}
	s.show(w, r, status, p)
}

func (s *site) endingOf(r *http.Request) (ending, bool) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	full := namespace + "/" + name
	back := href(wire.Schedulings, full)
	switch job := r.URL.Query().Get("job"); r.PathValue("ending") {
	case "delete":
		return ending{
			Title: "Delete " + full + "?", Verb: "Delete the scheduling", Back: back, done: "deleted", leadsTo: base,
			Text: "Its jobs are released: what runs of them is ended, and their slots become free.",
			do:   func() error { return s.api(r).DeleteScheduling(r.Context(), namespace, name, "") },
		}, true
	case "release":
		return ending{
			Title: "Release " + job + "?", Verb: "Release the job", Back: back, done: "released", leadsTo: back,
			Text: "The job leaves the scheduling " + full + ": what runs of it is ended, and its slots become free.",
			do:   func() error { return s.takeOut(r, namespace, name, job) },
		}, true
	}
	return ending{}, false
}

// takeOut takes a job out of a scheduling, unless the scheduling has changed meanwhile.
func (s *site) takeOut(r *http.Request, namespace, name, job string) error {
	sched, err := s.api(r).Scheduling(r.Context(), namespace, name)
	if err != nil {
		return err
	}
	spec, had := without(sched.SchedulingSpec, job)
	switch {
	case !had:
		return &wire.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: "The scheduling has no such job."}
	case len(spec.Queue) == 0 && spec.Slots == nil:
		return &wire.Problem{Title: "The last job", Status: http.StatusConflict, Detail: "It is the scheduling's only job: delete the scheduling."}
	}
	_, err = s.api(r).ReplaceScheduling(r.Context(), namespace, name, sched.ResourceVersion, spec)
	return err
}

// without returns the spec less a job, and whether it had it.
func without(spec wire.SchedulingSpec, job string) (wire.SchedulingSpec, bool) {
	n := len(spec.Queue)
	spec.Queue = slices.DeleteFunc(slices.Clone(spec.Queue), func(name string) bool { return name == job })
	had := len(spec.Queue) < n
	if spec.Slots == nil {
		return spec, had
	}
	rest := slices.DeleteFunc(slices.Clone(spec.Slots.Jobs), func(j wire.SlotJob) bool { return j.Job == job })
	had = len(rest) < len(spec.Slots.Jobs)
	if spec.Slots = &(wire.SlotBased{Mode: spec.Slots.Mode, Jobs: rest}); len(rest) == 0 {
		spec.Slots = nil
	}
	return spec, had
}
