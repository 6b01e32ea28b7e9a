package agent

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is the reason of every field.Error of this package; match it with
// errors.Is.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse returns a *field.Error with the reason in words.
func refuse(name string, value any, format string, args ...any) error {
	return &field.Error{Package: "agent", Field: name, Value: value, Err: fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)}
}

// index names a field of an element of a list.
func index(list string, i int, field string) string {
	if field == "" {
		return fmt.Sprintf("%s[%d]", list, i)
	}
	return fmt.Sprintf("%s[%d].%s", list, i, field)
}
