package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Overridden returns, for each field of a BatchJob's application that a child made of it
// does not have as it was given, what became of it: that field's path, the value that was
// given, and the one that is used instead, if any. Fields that the child has besides are not
// listed.
func Overridden(spec *v1alpha1.BatchJobSpec, child *unstructured.Unstructured) []string {
	adapter, err := Of(spec)
	if err != nil {
		return nil
	}
	given, err := parse(adapter.field, adapter.given(spec))
	if err != nil {
		return nil
	}
	used, _, _ := unstructured.NestedFieldNoCopy(child.Object, "spec")
	return overridden(adapter.field, given.fields, used)
}

func overridden(path string, given, used any) []string {
	switch given := given.(type) {
	case map[string]any:
		inner, ok := used.(map[string]any)
		if !ok {
			break
		}
		var all []string
		for _, key := range slices.Sorted(maps.Keys(given)) {
			all = append(all, overridden(path+"."+key, given[key], inner[key])...)
		}
		return all
	case []any:
		inner, ok := used.([]any)
		if !ok || len(inner) != len(given) {
			break
		}
		var all []string
		for i := range given {
			all = append(all, overridden(fmt.Sprintf("%s[%d]", path, i), given[i], inner[i])...)
		}
		return all
	}
	switch {
	case reflect.DeepEqual(given, used), given == nil, given == false && used == nil:
		return nil // null and false are as good as absent
	case used == nil:
		return []string{fmt.Sprintf("%s = %s is dropped", path, short(given))}
	}
	return []string{fmt.Sprintf("%s = %s is %s", path, short(given), short(used))}
}

// short spells a value, the beginning of a long one.
func short(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return cut(fmt.Sprint(value))
	}
	return cut(string(text))
}

// cut is the beginning of a long text.
func cut(text string) string {
	const most = 64
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
