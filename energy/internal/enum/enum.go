// Package enum has the names of numbered constants.
package enum

import (
	"slices"
	"strings"
)

// Name returns the name of the constant i, "unknown" if there are fewer.
func Name[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "unknown"
}

// Parse returns the constant of a name. If there is none, want says what is.
func Parse[T ~uint8](names []string, name string) (i T, want string) {
	found := slices.Index(names, name)
	if found < 0 {
		return 0, "one of " + strings.Join(names, ", ")
	}
	return T(found), ""
}
