package ui

import (
	"net/http"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// schedulingView is a scheduling with all that is known of it.
type schedulingView struct {
	schedulingRow
	Confirm, OnFailure string
	Exclusive          bool
	Started, Completed string
	Members            []memberRow
	Conditions         []conditionRow
	NoMember           memberRow
	NoCondition        conditionRow
}

func newSchedulingView(sched *wire.Scheduling) schedulingView {
	v := schedulingView{
		schedulingRow: newSchedulingRow(sched), Confirm: orElse(sched.Confirm, "None"), OnFailure: orElse(sched.OnFailure, "Continue"),
		Exclusive: sched.Exclusive, Started: clock(sched.Started), Completed: clock(sched.Completed),
		Conditions: conditionRows(sched.Conditions),
	}
	for _, j := range sched.Jobs {
		v.Members = append(v.Members, newMemberRow(v.Href, j))
	}
	return v
}

func (s *site) scheduling(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	var sched wire.Scheduling
	if err := s.api(r).get(objectPath(wire.Schedulings, namespace, name), &sched); err != nil {
		s.refuse(w, r, "Show the scheduling "+namespace+"/"+name, err)
		return
	}
	v := newSchedulingView(&sched)
	s.show(w, r, http.StatusOK, page{Name: "scheduling", Title: "Scheduling " + v.Key, Body: v})
}

// confirmView asks before something is done that cannot be undone.
type confirmView struct {
	Text, Verb, Back string
}

func (s *site) confirmDelete(w http.ResponseWriter, r *http.Request) {
	s.askDelete(w, r, http.StatusOK, nil)
}

func (s *site) askDelete(w http.ResponseWriter, r *http.Request, status int, problem *problemView) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	s.show(w, r, status, page{Name: "confirm", Title: "Delete " + namespace + "/" + name + "?", Problem: problem, Body: confirmView{
		Text: "Its jobs are released: what runs of them is ended, and their slots become free.",
		Verb: "Delete the scheduling", Back: objectHref(wire.Schedulings, namespace, name),
	}})
}

func (s *site) delete(w http.ResponseWriter, r *http.Request) {
	path := objectPath(wire.Schedulings, r.PathValue("namespace"), r.PathValue("name"))
	if _, err := s.api(r).call(http.MethodDelete, path, nil, nil, nil); err != nil {
		if s.toLogin(w, r, err) {
			return
		}
		p := s.judge(r, err)
		s.askDelete(w, r, p.Status, &problemView{What: "Delete the scheduling", Problem: p})
		return
	}
	redirect(w, r, Base, "deleted")
}

func (s *site) confirmRelease(w http.ResponseWriter, r *http.Request) {
	s.askRelease(w, r, http.StatusOK, nil)
}

func (s *site) askRelease(w http.ResponseWriter, r *http.Request, status int, problem *problemView) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	s.show(w, r, status, page{Name: "confirm", Title: "Release " + r.URL.Query().Get("job") + "?", Problem: problem, Body: confirmView{
		Text: "The job leaves the scheduling " + namespace + "/" + name + ": what runs of it is ended, and its slots become free.",
		Verb: "Release the job", Back: objectHref(wire.Schedulings, namespace, name),
	}})
}

// release takes a job out of a scheduling, unless the scheduling has changed meanwhile.
func (s *site) release(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if err := s.takeOut(r, objectPath(wire.Schedulings, namespace, name), r.URL.Query().Get("job")); err != nil {
		if s.toLogin(w, r, err) {
			return
		}
		p := s.judge(r, err)
		s.askRelease(w, r, p.Status, &problemView{What: "Release the job", Problem: p})
		return
	}
	redirect(w, r, objectHref(wire.Schedulings, namespace, name), "released")
}

func (s *site) takeOut(r *http.Request, path, job string) error {
	var sched wire.Scheduling
	if err := s.api(r).get(path, &sched); err != nil {
		return err
	}
	spec, had := without(sched.SchedulingSpec, job)
	switch {
	case !had:
		return &wire.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: "The scheduling has no such job."}
	case len(spec.Queue) == 0 && spec.Slots == nil:
		return &wire.Problem{Title: "The last job", Status: http.StatusConflict, Detail: "It is the scheduling's only job: delete the scheduling."}
	}
	_, err := s.api(r).call(http.MethodPut, path, http.Header{"If-Match": {`"` + sched.ResourceVersion + `"`}}, spec, nil)
	return err
}

// without returns the spec less a job, and whether it had it.
func without(spec wire.SchedulingSpec, job string) (wire.SchedulingSpec, bool) {
	had := slices.Contains(spec.Queue, job)
	spec.Queue = slices.DeleteFunc(slices.Clone(spec.Queue), func(name string) bool { return name == job })
	if spec.Slots == nil {
		return spec, had
	}
	is := func(j wire.SlotJob) bool { return j.Job == job }
	had = slices.ContainsFunc(spec.Slots.Jobs, is)
	rest := slices.DeleteFunc(slices.Clone(spec.Slots.Jobs), is)
	if len(rest) == 0 {
		spec.Slots = nil
	} else {
		spec.Slots = &wire.SlotBased{Mode: spec.Slots.Mode, Jobs: rest}
	}
	return spec, had
}
