package agent

import (
	"errors"
	"fmt"
)

// ErrInvalid is the reason of every FieldError of this package; match it with
// errors.Is.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError says which field of a Config or which argument was refused, and
// why. Err is, or wraps, ErrInvalid.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("agent: %s = %v: %v", e.Field, e.Value, e.Err)
}

func (e *FieldError) Unwrap() error { return e.Err }

// refuse returns a *FieldError with the reason in words.
func refuse(field string, value any, format string, args ...any) error {
	return &FieldError{field, value, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)}
}

// index names a field of an element of a list.
func index(list string, i int, field string) string {
	if field == "" {
		return fmt.Sprintf("%s[%d]", list, i)
	}
	return fmt.Sprintf("%s[%d].%s", list, i, field)
}
