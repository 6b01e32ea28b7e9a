package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
)

// JSON writes v as indented JSON. A number that is not finite, which JSON has no word for, is
// null, so that it does not cost all that was computed beside it.
func JSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	var bad *json.UnsupportedValueError
	if errors.As(err, &bad) {
		data, err = json.MarshalIndent(finite(reflect.ValueOf(v)), "", " ")
	}
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// finite returns a value as encoding/json would write it, with null for what it cannot.
func finite(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if _, own := v.Interface().(json.Marshaler); own {
		return v.Interface()
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
			return nil
		}
	case reflect.Pointer, reflect.Interface:
		return finite(v.Elem())
	case reflect.Slice, reflect.Array:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = finite(v.Index(i))
		}
		return all
	case reflect.Map:
		all := make(map[string]any, v.Len())
		for _, key := range v.MapKeys() {
			all[fmt.Sprint(key)] = finite(v.MapIndex(key))
		}
		return all
	case reflect.Struct:
		return finiteFields(v)
	}
	return v.Interface()
}

func finiteFields(v reflect.Value) map[string]any {
	all := map[string]any{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		field, err := v.FieldByIndexErr(f.Index)
		if err != nil || strings.Contains(options, "omitempty") && field.IsZero() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		all[name] = finite(field)
	}
	return all
}
