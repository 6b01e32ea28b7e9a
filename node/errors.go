package node

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/node/internal/loop"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// ErrInvalid is the reason of every FieldError of this package.
var ErrInvalid = publish.ErrInvalid

// ErrNoReport is returned while the agent has made no report yet.
var ErrNoReport = loop.ErrNoReport

// FieldError says which field of a Config is missing or out of range. Err is, or
// wraps, ErrInvalid.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("node: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns the reason.
func (e *FieldError) Unwrap() error { return e.Err }

func refuse(field string, value any, reason string) error {
	return &FieldError{field, value, fmt.Errorf("%w: %s", ErrInvalid, reason)}
}

// published turns what package publish refuses into the field of a Config; other
// errors stay as they are.
func published(err error) error {
	var bad *publish.FieldError
	if !errors.As(err, &bad) {
		return err
	}
	field := bad.Field
	if field == "Targets" {
		field = "Schedulers"
	}
	return &FieldError{field, bad.Value, bad.Err}
}
