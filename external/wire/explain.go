package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed"
)

// explain returns why data, which is JSON, cannot be decoded into v: encoding/json knows
// neither indices nor ranges, and names Go's types.
func explain(data []byte, v any, strict bool, err error) error {
	e := explanation{strict: strict}
	if e.value(data, reflect.TypeOf(v), ""); e.cause.Message == "" {
		return malformed("", Invalid, err.Error())
	}
	return &MalformedError{e.cause}
}

// explanation has the first cause that was found.
type explanation struct {
	strict bool
	cause  Cause
}

// refuse returns false, for value to return.
func (e *explanation) refuse(path, reason, message string) bool {
	e.cause = Cause{Field: path, Reason: reason, Message: message}
	return false
}

// want refuses data, which must be something else.
func (e *explanation) want(path, what string, data []byte) bool {
	const most = 40
	return e.refuse(path, Invalid, "must be "+what+", not "+cut(string(data), most))
}

var (
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
	timeType = reflect.TypeFor[time.Time]()
)

// value reports whether data can be decoded into a value of the type.
func (e *explanation) value(data []byte, t reflect.Type, path string) bool {
	if string(data) == "null" {
		return true
	}
	if t.Kind() == reflect.Pointer {
		return e.value(data, t.Elem(), path)
	}
	into := reflect.New(t)
	if json.Unmarshal(data, into.Interface()) == nil && !e.strict {
		return true
	}
	if pointer := into.Type(); pointer.Implements(jsonType) || pointer.Implements(textType) {
		err := json.Unmarshal(data, into.Interface())
		return err == nil || e.want(path, wanted(t, err), data)
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return e.object(data, t, path)
	case reflect.Slice:
		return e.array(data, t.Elem(), path)
	}
	return json.Unmarshal(data, into.Interface()) == nil || e.want(path, scalar(t), data)
}

// wanted is what a type with its own decoding wants.
func wanted(t reflect.Type, err error) string {
	refused := field.By(err, "testbed")
	switch {
	case t == timeType:
		return "a time such as 2006-01-02T15:04:05Z"
	case refused != nil:
		return strings.TrimPrefix(refused.Err.Error(), testbed.ErrInvalid.Error()+": must be ")
	}
	return "a string"
}

func scalar(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(math.MaxInt64) >> (64 - t.Bits())
		return fmt.Sprintf("a whole number from %d to %d", -most-1, most)
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	}
	return "a number"
}

func (e *explanation) array(data []byte, t reflect.Type, path string) bool {
	var all []json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return e.want(path, "an array", data)
	}
	for i, one := range all {
		if !e.value(one, t, atIndex(path, i)) {
			return false
		}
	}
	return true
}

func (e *explanation) object(data []byte, t reflect.Type, path string) bool {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return e.want(path, "an object", data)
	}
	fields := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		of, known := fields[fold(key)]
		if t.Kind() == reflect.Map {
			of, known = t.Elem(), true
		}
		switch {
		case !known && e.strict:
			return e.refuse(atKey(path, key), Unsupported, "is not a field here")
		case known && !e.value(all[key], of, atKey(path, key)):
			return false
		}
	}
	return true
}

// fieldsOf are the types of a struct's fields by their folded names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" && (name != "" || !f.Anonymous) {
			if name == "" {
				name = f.Name
			}
			fields[fold(name)] = f.Type
		}
	}
	return fields
}
