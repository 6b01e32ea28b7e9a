package main

import (
	"errors"
	"fmt"
)

// ErrInvalid is in every error of an option or of the input.
var ErrInvalid = errors.New("not releasable")

// invalid names the option, or what of the input, that cannot be followed, and says why.
func invalid(field string, value any, why string) error {
	return refused(field, value, fmt.Errorf("%w: %s", ErrInvalid, why))
}

func refused(field string, value any, err error) error {
	return fmt.Errorf("release: %s = %v: %w", field, value, err)
}
