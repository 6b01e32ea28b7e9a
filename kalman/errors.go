package kalman

import (
	"errors"
	"fmt"
)

// Causes of a rejected argument; test for them with errors.Is. The error's text names
// the field or argument, its value and what it must be.
var (
	ErrInvalid = errors.New("invalid configuration or input")
	ErrLength  = errors.New("wrong length")
)

// refuse returns an ErrInvalid that names the field and what its value must be.
func refuse(field string, value any, must string) error {
	return fmt.Errorf("kalman: %s = %v: %w: %s", field, value, ErrInvalid, must)
}

// refuseLength refuses a vector that does not have one element a channel.
func refuseLength(field string, got, want int) error {
	return fmt.Errorf("kalman: len(%s) = %d: %w: want %d", field, got, ErrLength, want)
}
