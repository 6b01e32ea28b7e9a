package server

import (
	"cmp"
	"net/http"
	"reflect"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// createScheduling is POST of a scheduling: what is not there is created, the same once
// more is what is there, and anything else of its name a conflict.
func (s *Server) createScheduling(c *call) error {
	body, err := s.readScheduling(c)
	if err != nil {
		return err
	}
	if c.r.URL.Query().Get("dryRun") != "" {
		plan, err := s.config.Store.Plan(c.r.Context(), c.caller, c.namespace, body.Name, body.SchedulingSpec)
		if err != nil {
			return err
		}
		if plan.Plan == nil {
			plan.Plan = []wire.Planned{}
		}
		return c.answer(http.StatusOK, plan)
	}
	object, created, err := s.create(c, body)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.w.Header().Set("Location", base+"/namespaces/"+object.Namespace+"/schedulings/"+object.Name)
	}
	return c.answerObject(status, object, err)
}

// create also reports whether the scheduling did not exist before.
func (s *Server) create(c *call, body wire.Scheduling) (wire.Scheduling, bool, error) {
	object, err := s.config.Store.CreateScheduling(c.r.Context(), c.caller, c.namespace, body.Name, body.SchedulingSpec)
	if !wire.IsStatus(err, http.StatusConflict) || object.Name == "" || object.Deleting ||
		!reflect.DeepEqual(object.Normal(c.namespace), body.Normal(c.namespace)) {
		return object, err == nil, err
	}
	// It is only shown to a caller who may see it.
	access := Access{Verb: Get, Kind: wire.Schedulings, Namespace: c.namespace, Name: body.Name}
	if s.authorize(c.r.Context(), c.caller, access) != nil {
		return object, false, err
	}
	return object, false, nil
}

func (s *Server) replaceScheduling(c *call) error {
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	body, err := s.readScheduling(c)
	if err != nil {
		return err
	}
	version = cmp.Or(version, body.ResourceVersion)
	object, err := s.config.Store.ReplaceScheduling(c.r.Context(), c.caller, c.namespace, c.name, version, body.SchedulingSpec)
	return c.answerObject(http.StatusOK, object, err)
}

func (s *Server) deleteScheduling(c *call) error {
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	if err := s.config.Store.Synced(); err != nil {
		return err
	}
	if err := s.config.Store.DeleteScheduling(c.r.Context(), c.caller, c.namespace, c.name, version); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// badName is a scheduling's name that cannot be one.
var badName = wire.Cause{Field: "name", Reason: wire.Required, Message: "must be of lower-case letters, digits, hyphens and points"}

// readScheduling reads and judges a scheduling by itself. What is read-only in it, as in
// one that was read and is sent back, is left aside.
func (s *Server) readScheduling(c *call) (wire.Scheduling, error) {
	if err := s.config.Store.Synced(); err != nil {
		return wire.Scheduling{}, err
	}
	var body wire.Scheduling
	if err := s.decode(c, wire.Decode, &body); err != nil {
		return body, err
	}
	var causes []wire.Cause
	body.Name = cmp.Or(body.Name, c.name)
	switch {
	case !wire.ValidName(body.Name):
		causes = append(causes, badName)
	case c.name != "" && body.Name != c.name:
		causes = append(causes, wire.Cause{Field: "name", Reason: wire.Immutable, Message: "must be that of the path"})
	}
	if body.Namespace != "" && body.Namespace != c.namespace {
		causes = append(causes, wire.Cause{Field: "namespace", Reason: wire.Immutable, Message: "must be that of the path"})
	}
	if body.ResourceVersion != "" {
		if _, err := wire.CompareVersions(body.ResourceVersion, body.ResourceVersion); err != nil {
			causes = append(causes, wire.Cause{Field: "resourceVersion", Reason: wire.Invalid, Message: "must be one that the object has had"})
		}
	}
	if causes = append(causes, body.Validate(c.namespace)...); len(causes) > 0 {
		return body, Refuse(http.StatusUnprocessableEntity, "The scheduling cannot be as it is.", causes...)
	}
	body.SchedulingSpec = body.Normal(c.namespace)
	return body, nil
}
