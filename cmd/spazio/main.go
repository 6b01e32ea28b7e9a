// Command spazio shows what Spazio knows of a cluster: its nodes' room, where a
// pod could go, the fleet's model.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
)

func main() { command.Main(spazioctl.Main) }
