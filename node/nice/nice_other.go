//go:build !unix

package nice

import (
	"errors"
	"fmt"
)

// Set fails: there is no niceness here.
func Set(int) error { return fmt.Errorf("nice: %w", errors.ErrUnsupported) }
