//go:build !linux

package plugin_test

import (
	"testing"
	"time"
)

// threadTime is not known here.
func threadTime(*testing.B) time.Duration { return 0 }
