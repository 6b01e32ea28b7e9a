//go:build !linux

package plugin_test

import (
	"testing"
	"time"
)

// threadTime is not available on this system.
func threadTime(*testing.B) time.Duration { return 0 }
