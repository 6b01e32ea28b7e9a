// Package inner has tests in a package of their own.
package inner

// Both is true where both are.
func Both(a, b bool) bool { return a && b }
