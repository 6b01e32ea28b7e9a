package server

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// position is where a page of a list ends: what a continue token says. Objects are by
// namespace and name, which no change of one moves: what is there from the first page to
// the last is on one page, and on one alone.
type position struct {
	Kind wire.Kind `json:"k"`
	// Of is the namespace that is listed, empty for all.
	Of        string `json:"of,omitempty"`
	Namespace string `json:"ns"`
	Name      string `json:"n"`
}

func (p position) token() string {
	data, _ := json.Marshal(p) // of strings: never fails
	return base64.RawURLEncoding.EncodeToString(data)
}

// parseToken reads what token writes, for a list of the kind and the namespace.
func parseToken(text string, kind wire.Kind, of string) (position, error) {
	var p position
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || wire.Decode(data, &p) != nil || p.token() != text {
		return position{}, badQuery("continue", wire.Invalid, "must be what an earlier page had")
	}
	if p.Kind != kind || p.Of != of {
		return position{}, badQuery("continue", wire.Invalid, "must be of a list of the same kind and namespace")
	}
	return p, nil
}

// page cuts a page out of the objects, which are by namespace and name.
func page[T any](s *Server, c *call, kind wire.Kind, objects []T, meta func(*T) *wire.Meta) error {
	query := c.r.URL.Query()
	limit := s.config.Limits.Page
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return badQuery("limit", wire.Invalid, fmt.Sprintf("must be a whole number from 1 on; a page has at most %d objects", s.config.Limits.Page))
		}
		limit = min(limit, n)
	}
	if text := query.Get("continue"); text != "" {
		after, err := parseToken(text, kind, c.namespace)
		if err != nil {
			return err
		}
		i, found := slices.BinarySearchFunc(objects, after, func(object T, p position) int {
			m := meta(&object)
			return cmp.Or(strings.Compare(m.Namespace, p.Namespace), strings.Compare(m.Name, p.Name))
		})
		if found {
			i++
		}
		objects = objects[i:]
	}
	list := wire.List[T]{Items: objects[:min(limit, len(objects))]}
	if len(objects) > limit {
		last := meta(&objects[limit-1])
		list.Continue = position{Kind: kind, Of: c.namespace, Namespace: last.Namespace, Name: last.Name}.token()
	}
	if list.Items == nil {
		list.Items = []T{}
	}
	return c.answer(http.StatusOK, list)
}

// checkQuery refuses parameters that the row does not have: one that is misspelt would
// else ask for something else.
func checkQuery(row *route, r *http.Request) error {
	query := r.URL.Query()
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
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
