// Command spazio-social is the application that spazio-demo compare puts into a cluster,
// and what sends requests to it.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/sociald"
)

func main() { command.Main(sociald.Main) }
