package spazioctl

import (
	"maps"
	"testing"
)

// Checked returns what spazio check prints for a report, Obstacles what spazio install prints for
// problems.
var (
	Checked   = checked
	Obstacles = obstacles
)

// CloseDebugPorts has the commands ask a port that nothing listens at, until the test ends.
func CloseDebugPorts(t testing.TB) {
	before := maps.Clone(debugPorts)
	t.Cleanup(func() { debugPorts = before })
	for program := range debugPorts {
		debugPorts[program] = 1
	}
}
