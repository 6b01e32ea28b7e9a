package experiment

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// OptionFields are the fields of one configuration by name, for command lines: PodsPerCore is pods-per-core, the
// field Hold of the struct Filter filter.hold. They are as safe for concurrent use as the configuration itself.
type OptionFields map[string]reflect.Value

// errUnknownOption is the reason where no field has the name.
var errUnknownOption = errors.New("no such option")

// errFixedOption is the reason where the field's type has no text.
var errFixedOption = errors.New("cannot be set")

// OptionError names the option that was refused, and the reason.
type OptionError struct {
	Name, Value string
	Err         error
}

func (e *OptionError) Error() string { return fmt.Sprintf("option %s=%s: %v", e.Name, e.Value, e.Err) }

// Unwrap returns the reason: that no field has the name, that the field's type has no text, or that of the type's text.
func (e *OptionError) Unwrap() error { return e.Err }

// OptionsOf returns the exported fields of the struct that config points to but those without which it
// is wanted, those of structs within it included, of embedded ones by their names alone; none if it
// points to something else.
func OptionsOf[T any](config *T, without ...string) OptionFields {
	fields := OptionFields{}
	if v := reflect.ValueOf(config).Elem(); v.Kind() == reflect.Struct {
		fields.walk(v, "")
	}
	maps.DeleteFunc(fields, func(name string, _ reflect.Value) bool { return slices.Contains(without, name) })
	return fields
}

func (f OptionFields) walk(v reflect.Value, prefix string) {
	for i := range v.NumField() {
		t, field := v.Type().Field(i), v.Field(i)
		switch {
		case !t.IsExported():
		case t.Anonymous && field.Kind() == reflect.Struct:
			f.walk(field, prefix)
		case field.Kind() == reflect.Struct:
			f.walk(field, prefix+kebab(t.Name)+".")
		default:
			f[prefix+kebab(t.Name)] = field
		}
	}
}

// kebab writes PodsPerCore as pods-per-core and CPUHalfLife as cpu-half-life.
func kebab(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && !unicode.IsUpper(letters[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Names lists the fields in order of their names.
func (f OptionFields) Names() []string { return slices.Sorted(maps.Keys(f)) }

// Set assigns what the text states. The error is an *OptionError, which names all fields where none has
// the name, and the field then has the value it had.
func (f OptionFields) Set(name, text string) error {
	field, ok := f[name]
	if !ok {
		return &OptionError{name, text, fmt.Errorf("%w; there are %s", errUnknownOption, strings.Join(f.Names(), ", "))}
	}
	value := reflect.New(field.Type())
	if err := parseOption(value, text); err != nil {
		return &OptionError{name, text, err}
	}
	field.Set(value.Elem())
	return nil
}

// parseOption assigns the text to what target points to.
func parseOption(target reflect.Value, text string) (err error) {
	switch p := target.Interface().(type) {
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *time.Duration:
		*p, err = time.ParseDuration(text)
	case *float64:
		*p, err = strconv.ParseFloat(text, 64)
	case *int:
		*p, err = strconv.Atoi(text)
	case *bool:
		*p, err = strconv.ParseBool(text)
	default:
		if target.Elem().Kind() != reflect.String {
			return errFixedOption
		}
		target.Elem().SetString(text)
	}
	return err
}
