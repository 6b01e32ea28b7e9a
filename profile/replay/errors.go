package replay

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/profile"
)

// FieldError is package profile's.
type FieldError = profile.FieldError

// refuse makes a FieldError; want completes "must be".
func refuse(field string, value any, want string) error {
	return &FieldError{Field: field, Value: value, Err: fmt.Errorf("%w: must be %s", profile.ErrInvalid, want)}
}
