package server

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// A lister and a getter are methods of a Store.
type (
	lister[T wire.Resource] = func(_ Store, _ context.Context, namespace string) ([]T, error)
	getter[T wire.Resource] = func(_ Store, _ context.Context, namespace, name string) (T, error)
)

func listed[T wire.Resource](s *Server, c *call, list lister[T]) ([]T, error) {
	if err := s.config.Store.Synced(); err != nil {
		return nil, err
	}
	objects, err := list(s.config.Store, c.r.Context(), c.namespace)
	if objects == nil {
		objects = []T{}
	}
	return objects, err
}

func gotten[T wire.Resource](s *Server, c *call, get getter[T]) (object T, err error) {
	if err := s.config.Store.Synced(); err != nil {
		return object, err
	}
	return get(s.config.Store, c.r.Context(), c.namespace, c.name)
}

// schema answers with the description.
func (s *Server) schema(c *call) error { return c.answerHashed(json.RawMessage(s.description)) }

// getOne answers with an object.
func getOne[T wire.Resource](get getter[T]) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		object, err := gotten(s, c, get)
		return c.answerObject(http.StatusOK, object, err)
	}
}

// getTestbed is a Testbed, with its slots if they are asked for. They change by
// themselves, without a version of the Testbed.
func (s *Server) getTestbed(c *call) error {
	if c.r.URL.Query().Get("slots") != "true" {
		return getOne(Store.Testbed)(s, c)
	}
	object, err := gotten(s, c, Store.Testbed)
	if err != nil {
		return err
	}
	slots, err := s.config.Store.Slots(c.r.Context(), c.namespace, c.name)
	if err != nil {
		return err
	}
	object.Slots, object.Counts = slots.Slots, wire.CountSlots(slots.Slots)
	return c.answerHashed(object)
}

func (s *Server) getSlots(c *call) error {
	object, err := gotten(s, c, Store.Slots)
	if err != nil {
		return err
	}
	if object.Slots == nil {
		object.Slots = []wire.Slot{}
	}
	return c.answerHashed(object.Slots)
}

// overview is everything except the slots. The cursor is taken before the objects are read, so
// that a watch from it has all changes that are not in them.
func (s *Server) overview(c *call) error {
	for _, kind := range []wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings} {
		if err := s.authorize(c.r.Context(), c.caller, Access{Verb: List, Kind: kind, Namespace: c.namespace}); err != nil {
			return err
		}
	}
	o := wire.Overview{Cursor: s.watches.cursor(c.namespace)}
	var errs [3]error
	o.Testbeds, errs[0] = listed(s, c, Store.Testbeds)
	o.Jobs, errs[1] = listed(s, c, Store.Jobs)
	o.Schedulings, errs[2] = listed(s, c, Store.Schedulings)
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	return c.answer(http.StatusOK, o)
}

// continuation is what a page of a list has as continue: the kind and the namespace that are listed,
// and the page's last object. Objects are by namespace and name, which no change of one moves:
// what is there from the first page to the last is on one page, and on one alone.
func continuation(kind wire.Kind, of string, last testbed.Name) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(kind) + "/" + of + "/" + last.String()))
}

// parseToken returns the last object of the page before.
func parseToken(text string, kind wire.Kind, of string) (testbed.Name, error) {
	data, _ := base64.RawURLEncoding.DecodeString(text) // invalid base64 differs from every token below
	last, err := wire.ParseName(strings.TrimPrefix(string(data), string(kind)+"/"+of+"/"), "")
	if err != nil || continuation(kind, of, last) != text {
		return testbed.Name{}, badQuery("continue", wire.Invalid, "must be what an earlier page of the same kind and namespace had")
	}
	return last, nil
}

// listPage answers with a page of the objects.
func listPage[T wire.Resource](list lister[T]) func(*Server, *call) error {
	var none T
	kind := none.ObjectKind()
	return func(s *Server, c *call) error {
		objects, err := listed(s, c, list)
		if err != nil {
			return err
		}
		query, limit := c.r.URL.Query(), mostPage
		if text := query.Get("limit"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return badQuery("limit", wire.Invalid, fmt.Sprintf("must be a whole number from 1 on; a page has at most %d objects", mostPage))
			}
			limit = min(limit, n)
		}
		if text := query.Get("continue"); text != "" {
			after, err := parseToken(text, kind, c.namespace)
			if err != nil {
				return err
			}
			i, found := slices.BinarySearchFunc(objects, after, func(object T, last testbed.Name) int { return object.Common().FullName().Compare(last) })
			if found {
				i++
			}
			objects = objects[i:]
		}
		page := wire.List[T]{Items: objects[:min(limit, len(objects))]}
		if len(objects) > limit {
			page.Continue = continuation(kind, c.namespace, objects[limit-1].Common().FullName())
		}
		return c.answer(http.StatusOK, page)
	}
}

// checkQuery refuses parameters that the row does not have: one that is misspelt would
// else ask for something else.
func checkQuery(row *route, r *http.Request) error {
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		i := slices.IndexFunc(row.query, func(p parameter) bool { return p.name == name })
		switch {
		case i < 0:
			return badQuery(name, wire.Unsupported, "is not a parameter here")
		case len(query[name]) > 1:
			return badQuery(name, wire.Duplicate, "must be given once")
		case len(row.query[i].values) > 0 && !slices.Contains(row.query[i].values, query[name][0]):
			return badQuery(name, wire.Unsupported, "must be one of "+strings.Join(row.query[i].values, ", "))
		}
	}
	return nil
}

func badQuery(parameter, reason, message string) *wire.Problem {
	return Refuse(http.StatusBadRequest, "The query parameter "+parameter+" "+message+".",
		wire.Cause{Field: parameter, Reason: reason, Message: message})
}
