package documents

import (
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// argumentsPage returns a table of each plugin's arguments: names, kinds, defaults
// and meanings as package plugin/config has them, and the bounds in its validation errors.
func argumentsPage(t *testing.T) string {
	var p page
	p.title("Arguments of the scheduler's plugins")
	p.line("They stand in `pluginConfig` of a KubeSchedulerConfiguration, by the plugin's name. The chart's value\n`scheduler.args` adds to those of the plugin Spazio. A field that is left out, or zero, has its default,\nexcept `maxWait`, where zero is a value.\n")
	arguments(t, &p, config.Kind, reflect.ValueOf(config.SpazioArgs{}.WithDefaults()), func(v reflect.Value) error {
		return v.Interface().(config.SpazioArgs).Validate()
	})
	arguments(t, &p, config.SlotsKind, reflect.ValueOf(config.SpazioSlotsArgs{}.WithDefaults()), func(v reflect.Value) error {
		return v.Interface().(config.SpazioSlotsArgs).Validate()
	})
	return p.String()
}

// arguments writes the table of the fields of a value with its defaults.
func arguments(t *testing.T, p *page, kind string, defaults reflect.Value, validate func(reflect.Value) error) {
	p.line("## " + kind + "\n\n| argument | takes | default | bounds | meaning |\n| --- | --- | --- | --- | --- |")
	meanings := fieldDocs(t, "plugin/config", kind)
	names := map[string]string{} // names in files, by those in Go
	for i := range defaults.NumField() {
		if name := jsonName(defaults.Type().Field(i)); name != "" {
			names[defaults.Type().Field(i).Name] = name
		}
	}
	for i := range defaults.NumField() {
		field := defaults.Type().Field(i)
		name := names[field.Name]
		if name == "" {
			continue
		}
		meaning := word.ReplaceAllStringFunc(cell(meanings[field.Name]), func(w string) string {
			if n, ok := names[w]; ok {
				return "`" + n + "`"
			}
			return w
		})
		if meaning == "" {
			t.Errorf("%s.%s has no doc comment", kind, field.Name)
		}
		value := shown(defaults.Field(i))
		if value == "" && !strings.Contains(meaning, "default") && !regexp.MustCompile(`\b(empty|without|If |none)\b`).MatchString(meaning) {
			t.Errorf("%s.%s: its doc comment does not say what it means empty: %s", kind, field.Name, meaning)
		}
		p.line(fmt.Sprintf("| `%s` | %s | %s | %s | %s |", name, takes(field.Type), value, cell(bounds(defaults, i, name, validate)), meaning))
	}
	p.line("")
}

var word = regexp.MustCompile(`[A-Z][A-Za-z]+`)

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func takes(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metav1.Duration](), reflect.TypeFor[*metav1.Duration]():
		return "duration"
	}
	return map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "true or false", reflect.Float64: "number", reflect.Int32: "whole number"}[t.Kind()]
}

// shown returns a value as in a file, "" if it is empty.
func shown(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case metav1.Duration:
		return "`" + x.Duration.String() + "`"
	case *metav1.Duration:
		return "`" + x.Duration.String() + "`"
	}
	if v.IsZero() && v.Kind() != reflect.Bool && v.Kind() != reflect.Float64 {
		return ""
	}
	return fmt.Sprintf("`%v`", v)
}

// bounds returns the validation's text for a field's worst values.
func bounds(defaults reflect.Value, i int, name string, validate func(reflect.Value) error) string {
	var output []string
	for _, worst := range worstOf(defaults.Field(i).Type()) {
		v := reflect.New(defaults.Type()).Elem()
		v.Set(defaults)
		v.Field(i).Set(reflect.ValueOf(worst))
		for _, e := range fieldErrors(validate(v)) {
			text := strings.TrimPrefix(e.Err.Error(), config.ErrInvalid.Error()+": ")
			text, _, _ = strings.Cut(text, ": ") // Kubernetes' text about names is long
			text, _, _ = strings.Cut(text, " (e.g.")
			text = strings.TrimPrefix(text, "must be ")
			if e.Field == name && !slices.Contains(output, text) {
				output = append(output, text)
			}
		}
	}
	return strings.Join(output, "; ")
}

func worstOf(t reflect.Type) []any {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return []any{metav1.Duration{Duration: -1}, metav1.Duration{Duration: time.Nanosecond}}
	case reflect.TypeFor[*metav1.Duration]():
		return []any{&metav1.Duration{Duration: -1}}
	}
	switch t.Kind() {
	case reflect.String:
		return []any{"\x00"}
	case reflect.Float64:
		return []any{-1., math.Inf(1), 3.}
	case reflect.Int32:
		return []any{int32(math.MinInt32)}
	}
	return nil
}

// fieldErrors returns the joined errors.
func fieldErrors(err error) (errs []*field.Error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			errs = append(errs, fieldErrors(e)...)
		}
		return errs
	}
	var e *field.Error
	if errors.As(err, &e) {
		errs = append(errs, e)
	}
	return errs
}

// fieldDocs returns the comments of a type's fields.
func fieldDocs(t *testing.T, dir, name string) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	matches, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range matches {
		if strings.HasSuffix(match, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, match, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	docs, err := doc.NewFromFiles(set, files, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range docs.Types {
		if typ.Name != name {
			continue
		}
		fields := map[string]string{}
		for _, f := range typ.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
			for _, n := range f.Names {
				fields[n.Name] = f.Doc.Text()
			}
		}
		return fields
	}
	t.Fatalf("%s has no type %s", dir, name)
	return nil
}
