// Command spazio-profiler learns what workloads take from what agents measure of their pods, and
// publishes it to schedulers and people.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/profilerd"
)

func main() { command.Main(profilerd.Main) }
