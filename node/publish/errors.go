package publish

import (
	"errors"
	"fmt"
)

// ErrInvalid is the reason of every field.Error of this package.
var ErrInvalid = errors.New("invalid configuration or input")

func invalid(reason string) error { return fmt.Errorf("%w: %s", ErrInvalid, reason) }
