package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

type object = map[string]any

// openapi is the interface's description (OpenAPI 3.1), made of the table of routes and of
// the types that it names.
func openapi(rows []route) ([]byte, error) {
	components := schemas{}
	paths := make(map[string]object)
	for _, row := range rows {
		if paths[row.path] == nil {
			paths[row.path] = object{}
		}
		paths[row.path][strings.ToLower(row.method)] = components.operation(&row)
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title":   "External scheduler interface",
			"version": "v1",
			"description": "Which jobs run in which slots, decided by programs outside. Objects name each other NAME, in their own namespace, " +
				"or NAMESPACE/NAME; answers always say NAMESPACE/NAME. Fields that are not known are refused in requests, and may come in answers of newer servers. " +
				"Objects' resourceVersion is their ETag. Problems are as in RFC 9457.",
		},
		"security": []object{{"bearer": []string{}}, {"session": []string{}}},
		"paths":    paths,
		"components": object{
			"securitySchemes": object{
				"bearer":  object{"type": "http", "scheme": "bearer"},
				"session": object{"type": "apiKey", "in": "cookie", "name": plainCookie, "description": "Under TLS its name is " + secureCookie + "."},
			},
			"schemas": components,
		},
	})
}

// operationWords makes a name of a path: namespaces-jobs-one.
var operationWords = strings.NewReplacer("/{namespace}", "", "{name}", "one", ".json", "", "/", "-")

// operation describes a row.
func (s schemas) operation(row *route) object {
	method := strings.ToLower(row.method)
	op := object{"summary": row.summary, "operationId": method + operationWords.Replace(strings.TrimPrefix(row.path, base))}
	if all := parameters(row); len(all) > 0 {
		op["parameters"] = all
	}
	if row.bodyType != "" {
		body := any(object{"type": "object"})
		if row.body != nil {
			body = s.of(row.body)
		}
		op["requestBody"] = object{"required": true, "content": object{row.bodyType: object{"schema": body}}}
	}
	if row.anonymous {
		op["security"] = []any{}
	}
	responses := object{}
	respond := func(status int, mediaType string, body any) {
		response := object{"description": http.StatusText(status)}
		if body != nil {
			response["content"] = object{mediaType: object{"schema": s.of(body)}}
		}
		responses[strconv.Itoa(status)] = response
	}
	for status, body := range row.answers {
		respond(status, jsonType, body)
	}
	refusals := append([]int{400, 403, 421}, row.problems...)
	if !row.anonymous {
		refusals = append(refusals, 401, 429, 500, 503)
	}
	for _, status := range refusals {
		respond(status, wire.ProblemType, wire.Problem{})
	}
	op["responses"] = responses
	return op
}

// parameters returns a row's parameters in the path, the query and the header.
func parameters(row *route) (all []object) {
	add := func(in, name, description string, more object) {
		is := object{"name": name, "in": in, "schema": object{"type": "string"}}
		if description != "" {
			is["description"] = description
		}
		maps.Copy(is, more)
		all = append(all, is)
	}
	for element := range strings.SplitSeq(row.path, "/") {
		if name, ok := strings.CutPrefix(element, "{"); ok {
			add("path", strings.TrimSuffix(name, "}"), "", object{"required": true})
		}
	}
	for _, p := range row.query {
		more := object{}
		if len(p.values) > 0 {
			more["schema"] = object{"type": "string", "enum": p.values}
		}
		add("query", p.name, p.summary, more)
	}
	if slices.Contains(row.problems, http.StatusPreconditionFailed) {
		add("header", "If-Match", "The ETag at which alone is written.", nil)
	}
	if _, ok := row.answers[http.StatusNotModified]; ok {
		add("header", "If-None-Match", "The ETag of what the caller has.", nil)
	}
	return all
}

// schemas are the schemas of Go structs as encoding/json writes them, by name.
type schemas object

// of returns the schema of a value's type.
func (s schemas) of(v any) any {
	types, ok := v.(either)
	if !ok {
		return s.ofType(reflect.TypeOf(v))
	}
	var all []any
	for _, one := range types {
		all = append(all, s.of(one))
	}
	return object{"oneOf": all}
}

// spelt are types that are not written as what they are made of.
var spelt = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
	reflect.TypeFor[json.RawMessage](): {"type": "object"},
	reflect.TypeFor[slot.State]():      {"type": "string", "enum": []string{"pending", "free", "reserved", "occupied", "retiring"}},
	reflect.TypeFor[slot.Ref](): {"oneOf": []object{
		{"type": "integer", "minimum": 0, "description": "The slot's index."}, {"type": "string", "description": "The slot's ID: NODE/POSITION."},
	}},
}

// enumerations are the values of fields that are text; of requests, empty is the first.
var enumerations = map[string][]string{
	"SchedulingSpec.confirm":   {wire.ConfirmNone, wire.ConfirmEach},
	"SchedulingSpec.onFailure": {wire.Continue, wire.Stop},
	"SlotBased.mode":           {wire.Strict, wire.Relaxed},
	"Condition.status":         {"True", "False", "Unknown"},
}

func (s schemas) ofType(t reflect.Type) any {
	if is, ok := spelt[t]; ok {
		return is
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ofType(t.Elem())
	case reflect.Struct:
		return s.component(t)
	case reflect.Slice:
		return object{"type": "array", "items": s.ofType(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.ofType(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	}
	panic(fmt.Sprintf("no schema of %s", t))
}

// component adds a struct, and returns the reference to it.
func (s schemas) component(t reflect.Type) any {
	name := t.Name()
	if generic, of, ok := strings.Cut(name, "["); ok { // List[….Job]
		name = strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]") + generic
	}
	if _, ok := s[name]; !ok {
		properties := object{}
		is := object{"type": "object", "properties": properties}
		s[name] = is // before its fields, one of which may be of it
		if required := s.fields(t, properties); len(required) > 0 {
			is["required"] = required
		}
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields adds those of a struct and of what is embedded in it, and returns the required ones.
func (s schemas) fields(t reflect.Type, properties object) (required []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, ok := field.Tag.Lookup("json")
		if field.Anonymous && !ok {
			required = append(required, s.fields(field.Type, properties)...)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		properties[name] = s.ofType(field.Type)
		if values := enumerations[t.Name()+"."+name]; values != nil {
			properties[name] = object{"type": "string", "enum": values}
		}
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return required
}
