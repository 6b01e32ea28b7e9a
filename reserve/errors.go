package reserve

import (
	"errors"
	"fmt"
)

// ErrInvalid is the cause of every refused field and argument; test for it with
// errors.Is. The error's text names the field, its value and what it must be.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse returns an ErrInvalid that names the field; want completes "must be".
func refuse(field string, value any, want string) error {
	return fmt.Errorf("reserve: %s = %v: %w: must be %s", field, value, ErrInvalid, want)
}
