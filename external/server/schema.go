package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// schemas are those of Go types as encoding/json writes them. Structs become components,
// once each.
type schemas struct {
	components map[string]any
}

func newSchemas() *schemas { return &schemas{components: make(map[string]any)} }

// of returns the schema of a value's type.
func (s *schemas) of(v any) any {
	types, ok := v.(either)
	if !ok {
		return s.ofType(reflect.TypeOf(v))
	}
	var all []any
	for _, one := range types {
		all = append(all, s.of(one))
	}
	return map[string]any{"oneOf": all}
}

// spelt are types that are not written as what they are made of.
var spelt = map[reflect.Type]map[string]any{
	reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
	reflect.TypeFor[json.RawMessage](): {"type": "object"},
	reflect.TypeFor[slot.State]():      {"type": "string", "enum": []string{"pending", "free", "reserved", "occupied", "retiring"}},
	reflect.TypeFor[slot.Ref](): {"oneOf": []any{
		map[string]any{"type": "integer", "minimum": 0, "description": "The slot's index."},
		map[string]any{"type": "string", "description": "The slot's ID: NODE/POSITION."},
	}},
}

// enumerations are the values of fields that are text; of requests, empty is the first.
var enumerations = map[string][]string{
	"SchedulingSpec.confirm":   {wire.ConfirmNone, wire.ConfirmEach},
	"SchedulingSpec.onFailure": {wire.Continue, wire.Stop},
	"SlotBased.mode":           {wire.Strict, wire.Relaxed},
	"Condition.status":         {"True", "False", "Unknown"},
}

func (s *schemas) ofType(t reflect.Type) any {
	if is, ok := spelt[t]; ok {
		return is
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ofType(t.Elem())
	case reflect.Struct:
		return s.component(t)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.ofType(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.ofType(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	panic(fmt.Sprintf("no schema of %s", t))
}

// component adds a struct, and returns the reference to it.
func (s *schemas) component(t reflect.Type) any {
	name := t.Name()
	if generic, of, ok := strings.Cut(name, "["); ok { // List[….Job]
		name = strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]") + generic
	}
	if _, ok := s.components[name]; !ok {
		s.components[name] = nil // of what has itself inside
		properties, required := make(map[string]any), []string{}
		s.fields(t, properties, &required)
		is := map[string]any{"type": "object", "properties": properties}
		if len(required) > 0 {
			is["required"] = required
		}
		s.components[name] = is
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// fields adds those of a struct and of what is embedded in it.
func (s *schemas) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, ok := field.Tag.Lookup("json")
		if field.Anonymous && !ok {
			s.fields(field.Type, properties, required)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		properties[name] = s.ofType(field.Type)
		if values := enumerations[t.Name()+"."+name]; values != nil {
			properties[name] = map[string]any{"type": "string", "enum": values}
		}
		if options != "omitempty" {
			*required = append(*required, name)
		}
	}
}
