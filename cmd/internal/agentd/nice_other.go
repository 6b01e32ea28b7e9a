//go:build !unix

package agentd

import (
	"errors"
	"fmt"
)

// setNiceness fails: there is no niceness here.
func setNiceness(int) error { return fmt.Errorf("--nice: %w", errors.ErrUnsupported) }
