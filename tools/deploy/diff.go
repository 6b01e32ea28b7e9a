package main

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// diff returns the patch that makes a value from an older one, in operations as
// small as they can be, so that patches of the same object go together. What a
// list has more at its end is appended.
func diff(before, after any, path string) []operation {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	switch before := before.(type) {
	case map[string]any:
		if after, ok := after.(map[string]any); ok {
			return diffMaps(before, after, path)
		}
	case []any:
		if after, ok := after.([]any); ok && len(after) >= len(before) {
			return diffLists(before, after, path)
		}
	}
	return []operation{{"replace", path, after}}
}

func diffMaps(before, after map[string]any, path string) (operations []operation) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[key]; !ok {
			operations = append(operations, operation{Op: "remove", Path: join(path, key)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[key]; ok {
			operations = append(operations, diff(old, after[key], join(path, key))...)
		} else {
			operations = append(operations, operation{"add", join(path, key), after[key]})
		}
	}
	return operations
}

// diffLists takes a list that is no shorter. Where the old one's elements are not
// all kept, the list is replaced.
func diffLists(before, after []any, path string) (operations []operation) {
	for i, old := range before {
		_, isMap := old.(map[string]any)
		if !isMap && !reflect.DeepEqual(old, after[i]) {
			return []operation{{"replace", path, after}}
		}
		operations = append(operations, diff(old, after[i], join(path, strconv.Itoa(i)))...)
	}
	for _, value := range after[len(before):] {
		operations = append(operations, operation{"add", join(path, "-"), value})
	}
	return operations
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func join(path, key string) string { return path + "/" + escape.Replace(key) }
