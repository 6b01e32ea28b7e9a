package api

import (
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spazio-scheduler/spazio/field"
)

// checkName accepts printable text of 1 to MaxName bytes; optional names may be
// empty.
func checkName(field, name string, optional bool) error {
	switch {
	case name == "" && optional:
		return nil
	case name == "":
		return refuse(field, name, ErrMissing)
	case len(name) > MaxName:
		return refuseLength(field, len(name), MaxName)
	case !utf8.ValidString(name):
		return refuse(field, name, ErrText)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return refuse(field, name, ErrText)
		}
	}
	return nil
}

// checkRange accepts low <= x <= high and, as comparisons with NaN are false,
// no NaN.
func checkRange(field string, x, low, high float64) error {
	if x >= low && x <= high {
		return nil
	}
	return refuse(field, x, fmt.Errorf("%w: %g to %g", ErrRange, low, high))
}

// MaxAge is what an age counts for at most: it is subtracted from times, so that one of 292
// years would be in the future.
const MaxAge = 366 * 24 * time.Hour

// ranged is a number and its range.
type ranged struct {
	field        string
	x, low, high float64
}

func checkRanges(numbers []ranged) error {
	for _, n := range numbers {
		if err := checkRange(n.field, n.x, n.low, n.high); err != nil {
			return err
		}
	}
	return nil
}

// element puts the path of a list's element before the field that err names.
func element(list string, i int, err error) error {
	return under(fmt.Sprintf("%s[%d]", list, i), err)
}

// under puts the path of a message before the field of it that err names.
func under(path string, err error) error {
	var bad *field.Error
	if errors.As(err, &bad) {
		return &field.Error{Package: "api", Field: path + "." + bad.Field, Value: bad.Value, Err: bad.Err}
	}
	return err
}
