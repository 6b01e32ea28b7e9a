package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// seedBase is what the paths of the thesis begin with.
const seedBase = "/external"

// seedRoutes are the paths of the thesis, of one namespace. Behind the name of a kind, a
// solidus makes no difference.
func seedRoutes() []route {
	var rows []route
	add := func(row route, paths ...string) {
		row.seed = true
		for _, row.path = range paths {
			rows = append(rows, row)
		}
	}
	testbeds, jobs, schedulings := seedBase+"/testbeds", seedBase+"/jobs", seedBase+"/schedulings"
	add(route{method: http.MethodGet, verb: List, kind: wire.Testbeds, serve: (*Server).seedListTestbeds}, testbeds, testbeds+"/{$}")
	add(route{method: http.MethodGet, verb: Get, kind: wire.Testbeds, serve: (*Server).seedGetTestbed}, testbeds+"/{name}")
	add(route{method: http.MethodGet, verb: List, kind: wire.Jobs, serve: (*Server).seedListJobs}, jobs, jobs+"/{$}")
	add(route{method: http.MethodPut, serve: (*Server).seedPutJob}, jobs, jobs+"/{$}")
	add(route{method: http.MethodGet, verb: Get, kind: wire.Jobs, serve: (*Server).seedGetJob}, jobs+"/{name}")
	add(route{method: http.MethodGet, verb: List, kind: wire.Schedulings, serve: (*Server).seedListSchedulings}, schedulings, schedulings+"/{$}")
	add(route{method: http.MethodPost, verb: Create, kind: wire.Schedulings, serve: (*Server).seedPostScheduling}, schedulings, schedulings+"/{$}")
	add(route{method: http.MethodGet, verb: Get, kind: wire.Schedulings, serve: (*Server).seedGetScheduling}, schedulings+"/{name}")
	add(route{method: http.MethodDelete, verb: Delete, kind: wire.Schedulings, serve: (*Server).seedDeleteScheduling}, schedulings+"/{name}")
	add(route{method: http.MethodGet, anonymous: true, long: true, serve: (*Server).stomp}, "/scheduler")
	return rows
}

func (s *Server) seedListTestbeds(c *call) error {
	return seedList(s, c, s.config.Store.Testbeds, s.seedTestbed)
}

// seedListJobs has jobs by their names.
func (s *Server) seedListJobs(c *call) error {
	objects, err := listed(s, c, s.config.Store.Jobs)
	if err != nil {
		return err
	}
	byName := make(map[string]seedJob, len(objects))
	for _, o := range objects {
		byName[o.Name] = s.seedJob(o)
	}
	return c.answer(http.StatusOK, byName)
}

func (s *Server) seedListSchedulings(c *call) error {
	return seedList(s, c, s.config.Store.Schedulings, s.seedScheduling)
}

// seedList answers with the bodies of what is listed.
func seedList[T, B any](s *Server, c *call, list lister[T], body func(context.Context, T) (B, error)) error {
	objects, err := listed(s, c, list)
	if err != nil {
		return err
	}
	bodies := make([]B, len(objects))
	for i, o := range objects {
		if bodies[i], err = body(c.r.Context(), o); err != nil {
			return err
		}
	}
	return c.answer(http.StatusOK, bodies)
}

func (s *Server) seedGetTestbed(c *call) error {
	o, err := gotten(s, c, s.config.Store.Testbed)
	return s.seedAnswer(c, o, err)
}

func (s *Server) seedGetJob(c *call) error {
	o, err := gotten(s, c, s.config.Store.Job)
	return s.seedAnswer(c, o, err)
}

func (s *Server) seedGetScheduling(c *call) error {
	o, err := gotten(s, c, s.config.Store.Scheduling)
	return s.seedAnswer(c, o, err)
}

// seedAnswer answers with the object, or why there is none.
func (s *Server) seedAnswer(c *call, object any, err error) error {
	if err != nil {
		return err
	}
	body, err := s.seedBody(c.r.Context(), object)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, body)
}

// seedPutJob writes what outside programs keep in the job that the body names; all else in
// the body is left aside. Whoever writes last is right, as in the thesis.
func (s *Server) seedPutJob(c *call) error {
	var body struct {
		Name              string          `json:"name"`
		ExternalScheduler json.RawMessage `json:"externalScheduler"`
	}
	if err := s.decode(c, wire.DecodeKnown, &body); err != nil {
		return err
	}
	if !wire.ValidName(body.Name) {
		return seedInvalid(wire.Cause{Field: "name", Reason: wire.Required, Message: "must be a job's"})
	}
	access := Access{Verb: Update, Kind: wire.Jobs, Namespace: c.namespace, Name: body.Name, External: true}
	if err := s.authorize(c.r.Context(), c.caller, access); err != nil {
		return err
	}
	if err := s.config.Store.Synced(); err != nil {
		return err
	}
	if len(body.ExternalScheduler) == 0 || string(body.ExternalScheduler) == "null" {
		body.ExternalScheduler = json.RawMessage("{}")
	}
	var data json.RawMessage
	err := s.callers.turn(c.r.Context(), func() (err error) {
		data, err = s.normalExternal(body.ExternalScheduler)
		return err
	})
	if err != nil {
		return err
	}
	job, err := s.config.Store.SetExternal(c.r.Context(), c.caller, c.namespace, body.Name, "", data)
	return s.seedAnswer(c, job, err)
}

// seedPostScheduling creates a scheduling. The thesis replaces in silence what is there
// already; here, that is a conflict, unless it is the same.
func (s *Server) seedPostScheduling(c *call) error {
	if err := s.config.Store.Synced(); err != nil {
		return err
	}
	var posted seedScheduling
	if err := s.decode(c, wire.DecodeKnown, &posted); err != nil {
		return err
	}
	body := wire.Scheduling{Meta: wire.Meta{Name: posted.Name}}
	var causes []wire.Cause
	body.SchedulingSpec, causes = posted.spec()
	if !wire.ValidName(body.Name) {
		causes = append(causes, wire.Cause{Field: "name", Reason: wire.Required, Message: "must be of lower-case letters, digits, hyphens and points"})
	}
	for _, cause := range body.Validate(c.namespace) {
		if cause.Field == "testbed" {
			cause.Field = "testBed"
		}
		causes = append(causes, cause)
	}
	if len(causes) > 0 {
		return seedInvalid(causes...)
	}
	body.SchedulingSpec = body.Normal(c.namespace)
	object, _, err := s.create(c, body)
	return s.seedAnswer(c, object, err)
}

// spec is that of a scheduling that was posted. An empty queue is none.
func (b *seedScheduling) spec() (wire.SchedulingSpec, []wire.Cause) {
	spec := wire.SchedulingSpec{Testbed: b.TestBed, Queue: b.Queue}
	if b.Slots == nil {
		return spec, nil
	}
	var causes []wire.Cause
	modes := map[string]string{"strict": wire.Strict, "relaxed": wire.Relaxed}
	spec.Slots = &wire.SlotBased{Mode: modes[b.Slots.Mode]}
	if spec.Slots.Mode == "" {
		causes = append(causes, wire.Cause{Field: "slots.mode", Reason: wire.Unsupported, Message: "must be strict or relaxed"})
	}
	for i, job := range b.Slots.Jobs {
		one := wire.SlotJob{Job: job.Name}
		for j, index := range job.Slots {
			if index < 0 {
				causes = append(causes, wire.Cause{Field: fmt.Sprintf("slots.jobs[%d].slots[%d]", i, j), Reason: wire.Invalid, Message: "must not be negative"})
			}
			one.Slots = append(one.Slots, slot.Ref{Index: index})
		}
		spec.Slots.Jobs = append(spec.Slots.Jobs, one)
	}
	return spec, causes
}

// seedDeleteScheduling answers with the scheduling as it was, and 304 if there was none.
func (s *Server) seedDeleteScheduling(c *call) error {
	o, err := gotten(s, c, s.config.Store.Scheduling)
	if err == nil {
		err = s.config.Store.DeleteScheduling(c.r.Context(), c.caller, c.namespace, c.name, "")
	}
	var p *wire.Problem
	if errors.As(err, &p) && p.Status == http.StatusNotFound {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return s.seedAnswer(c, o, err)
}

// seedInvalid is 400, where /external/v1 says 422.
func seedInvalid(causes ...wire.Cause) *wire.Problem {
	return Refuse(http.StatusBadRequest, "The body cannot be as it is.", causes...)
}
