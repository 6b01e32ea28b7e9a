package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// openapi is the interface's description (OpenAPI 3.1), made of the table of routes and of
// the types that it names.
func openapi(rows []route) ([]byte, error) {
	types := newSchemas()
	paths := make(map[string]map[string]any)
	for _, row := range rows {
		if row.seed {
			continue
		}
		if paths[row.path] == nil {
			paths[row.path] = make(map[string]any)
		}
		paths[row.path][strings.ToLower(row.method)] = operation(&row, types)
	}
	return json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title":   "External scheduler interface",
			"version": "v1",
			"description": "Which jobs run in which slots, decided by programs outside. Objects name each other NAME, in their own namespace, " +
				"or NAMESPACE/NAME; answers always say NAMESPACE/NAME. Fields that are not known are refused in requests, and may come in answers of newer servers. " +
				"Objects' resourceVersion is their ETag. Problems are as in RFC 9457.",
		},
		"security": []any{map[string]any{"bearer": []string{}}, map[string]any{"session": []string{}}},
		"paths":    paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{
				"bearer":  map[string]any{"type": "http", "scheme": "bearer"},
				"session": map[string]any{"type": "apiKey", "in": "cookie", "name": plainCookie, "description": "Under TLS its name is " + secureCookie + "."},
			},
			"schemas": types.components,
		},
	})
}

// operation describes a row.
func operation(row *route, types *schemas) map[string]any {
	op := map[string]any{"summary": row.summary, "operationId": operationID(row)}
	var parameters []any
	for element := range strings.SplitSeq(row.path, "/") {
		if name, ok := strings.CutPrefix(element, "{"); ok {
			parameters = append(parameters, map[string]any{
				"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": map[string]any{"type": "string"},
			})
		}
	}
	for _, p := range row.query {
		text := map[string]any{"type": "string"}
		if len(p.values) > 0 {
			text["enum"] = p.values
		}
		parameters = append(parameters, map[string]any{"name": p.name, "in": "query", "description": p.summary, "schema": text})
	}
	if slices.Contains(row.problems, http.StatusPreconditionFailed) {
		parameters = append(parameters, header("If-Match", "The ETag at which alone is written."))
	}
	if _, ok := row.answers[http.StatusNotModified]; ok {
		parameters = append(parameters, header("If-None-Match", "The ETag of what the caller has."))
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if row.bodyType != "" {
		body := any(map[string]any{"type": "object"})
		if row.body != nil {
			body = types.of(row.body)
		}
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{row.bodyType: map[string]any{"schema": body}}}
	}
	if row.anonymous {
		op["security"] = []any{}
	}
	responses := make(map[string]any)
	for status, body := range row.answers {
		response := map[string]any{"description": http.StatusText(status)}
		if body != nil {
			response["content"] = map[string]any{jsonType: map[string]any{"schema": types.of(body)}}
		}
		responses[strconv.Itoa(status)] = response
	}
	for _, status := range row.refusals() {
		responses[strconv.Itoa(status)] = map[string]any{
			"description": http.StatusText(status),
			"content":     map[string]any{wire.ProblemType: map[string]any{"schema": types.of(wire.Problem{})}},
		}
	}
	op["responses"] = responses
	return op
}

func header(name, text string) map[string]any {
	return map[string]any{"name": name, "in": "header", "description": text, "schema": map[string]any{"type": "string"}}
}

// refusals are the statuses of the problems that a row may answer with.
func (row *route) refusals() []int {
	all := []int{http.StatusBadRequest, http.StatusForbidden, http.StatusMisdirectedRequest}
	if !row.anonymous {
		all = append(all, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable)
	}
	all = append(all, row.problems...)
	slices.Sort(all)
	return slices.Compact(all)
}

// operationID is the method and the path's own words: get-namespaces-jobs-one.
func operationID(row *route) string {
	words := []string{strings.ToLower(row.method)}
	for element := range strings.SplitSeq(strings.TrimPrefix(row.path, base+"/"), "/") {
		switch {
		case element == "{name}":
			words = append(words, "one")
		case !strings.HasPrefix(element, "{"):
			words = append(words, strings.TrimSuffix(element, ".json"))
		}
	}
	return strings.Join(words, "-")
}

// schema answers with the description.
func (s *Server) schema(c *call) error {
	return c.answerHashed(json.RawMessage(s.description))
}
