package server

import (
	"context"
	"net/http"

	"github.com/spazio-scheduler/spazio/external/wire"
)

func (s *Server) listTestbeds(c *call) error {
	objects, err := listed(s, c, s.config.Store.Testbeds)
	if err != nil {
		return err
	}
	return page(s, c, wire.Testbeds, objects, func(o *wire.Testbed) *wire.Meta { return &o.Meta })
}

func (s *Server) listJobs(c *call) error {
	objects, err := listed(s, c, s.config.Store.Jobs)
	if err != nil {
		return err
	}
	return page(s, c, wire.Jobs, objects, func(o *wire.Job) *wire.Meta { return &o.Meta })
}

func (s *Server) listSchedulings(c *call) error {
	objects, err := listed(s, c, s.config.Store.Schedulings)
	if err != nil {
		return err
	}
	return page(s, c, wire.Schedulings, objects, func(o *wire.Scheduling) *wire.Meta { return &o.Meta })
}

// getTestbed is a Testbed, with its slots if they are asked for. They change by
// themselves, without a version of the Testbed.
func (s *Server) getTestbed(c *call) error {
	object, err := gotten(s, c, s.config.Store.Testbed)
	if err != nil {
		return err
	}
	if c.r.URL.Query().Get("slots") != "true" {
		return c.answerVersion(http.StatusOK, object.ResourceVersion, object)
	}
	slots, err := s.config.Store.Slots(c.r.Context(), c.namespace, c.name)
	if err != nil {
		return err
	}
	object.Slots, object.Counts = slots.Slots, wire.CountSlots(slots.Slots)
	return c.answerHashed(object)
}

func (s *Server) getSlots(c *call) error {
	object, err := gotten(s, c, s.config.Store.Slots)
	if err != nil {
		return err
	}
	slots := object.Slots
	if slots == nil {
		slots = []wire.Slot{}
	}
	return c.answerHashed(slots)
}

func (s *Server) getJob(c *call) error {
	object, err := gotten(s, c, s.config.Store.Job)
	if err != nil {
		return err
	}
	return c.answerVersion(http.StatusOK, object.ResourceVersion, object)
}

func (s *Server) getScheduling(c *call) error {
	object, err := gotten(s, c, s.config.Store.Scheduling)
	if err != nil {
		return err
	}
	return c.answerVersion(http.StatusOK, object.ResourceVersion, object)
}

// overview is everything but the slots. The cursor is of before the objects were read: who
// watches from it hears of all that is not in them.
func (s *Server) overview(c *call) error {
	for _, kind := range []wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings} {
		if err := s.authorize(c.r.Context(), c.caller, Access{Verb: List, Kind: kind, Namespace: c.namespace}); err != nil {
			return err
		}
	}
	if err := s.config.Store.Synced(); err != nil {
		return err
	}
	var o wire.Overview
	var err error
	if o.Cursor, err = s.cursor(c.namespace); err != nil {
		return err
	}
	if o.Testbeds, err = listed(s, c, s.config.Store.Testbeds); err != nil {
		return err
	}
	if o.Jobs, err = listed(s, c, s.config.Store.Jobs); err != nil {
		return err
	}
	if o.Schedulings, err = listed(s, c, s.config.Store.Schedulings); err != nil {
		return err
	}
	return c.answer(http.StatusOK, o)
}

type (
	lister[T any] = func(ctx context.Context, namespace string) ([]T, error)
	getter[T any] = func(ctx context.Context, namespace, name string) (T, error)
)

func listed[T any](s *Server, c *call, list lister[T]) ([]T, error) {
	if err := s.config.Store.Synced(); err != nil {
		return nil, err
	}
	objects, err := list(c.r.Context(), c.namespace)
	if objects == nil {
		objects = []T{}
	}
	return objects, err
}

func gotten[T any](s *Server, c *call, get getter[T]) (T, error) {
	if err := s.config.Store.Synced(); err != nil {
		var none T
		return none, err
	}
	return get(c.r.Context(), c.namespace, c.name)
}
