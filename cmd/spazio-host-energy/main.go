// Command spazio-host-energy divides what this machine takes among its virtual machines, and
// publishes each one's part for it to read.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/powerd"
)

func main() { command.Main(powerd.Main) }
