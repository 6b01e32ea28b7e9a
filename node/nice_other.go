//go:build !unix

package node

import (
	"errors"
	"fmt"
)

// setNiceness fails: there is no niceness here.
func setNiceness(int) error { return fmt.Errorf("node: niceness: %w", errors.ErrUnsupported) }
