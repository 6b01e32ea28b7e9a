//go:build !unix

package process

import (
	"errors"
	"time"
)

// Own is not known here.
func Own() (time.Duration, error) { return 0, errors.ErrUnsupported }
