// Package field has the error by which all packages but those of the maths refuse a field of
// a configuration, an argument or a message. It depends on the standard library alone.
package field

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error names a field or an argument, and the value that it was refused for. It is a plain
// value: concurrent reading is safe.
type Error struct {
	// Package is the name of the package that refuses it; empty where people read the error who
	// know of no packages.
	Package string
	// Field is its name, with the names of what it is in, as in "channels[2].cost_sd".
	Field string
	// Value is what it held, or the length of what is too long.
	Value any
	// Err is the reason. It wraps an Err variable of the package.
	Err error
}

// maxValue is how many bytes of a value are shown: others may have sent it, and the error
// travels in statuses and logs.
const maxValue = 256

// Error is one line; a long value is cut.
func (e *Error) Error() string {
	value := fmt.Sprint(e.Value)
	if value == "" || !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		value = strconv.Quote(value)
	}
	if len(value) > maxValue {
		value = strings.ToValidUTF8(value[:maxValue-len("...")], "") + "..."
	}
	text := fmt.Sprintf("%s = %s: %v", e.Field, value, e.Err)
	if e.Package == "" {
		return text
	}
	return e.Package + ": " + text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Refuser returns the function by which a package refuses a value: want completes "must be", and the
// Error that it returns wraps the package's reason.
func Refuser(of string, reason error) func(name string, value any, want string) error {
	return func(name string, value any, want string) error {
		return &Error{Package: of, Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", reason, want)}
	}
}

// By returns the first Error in err's tree that one of the packages made; nil if there is none.
func By(err error, packages ...string) *Error {
	//nolint:errorlint // it goes down the tree itself, as errors.As would to the first
	switch e := err.(type) {
	case *Error:
		if slices.Contains(packages, e.Package) {
			return e
		}
		return By(e.Err, packages...)
	case interface{ Unwrap() error }:
		return By(e.Unwrap(), packages...)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if found := By(part, packages...); found != nil {
				return found
			}
		}
	}
	return nil
}
