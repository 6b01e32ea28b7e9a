// Command spazio-demo runs Spazio from end to end on one machine and compares
// it with the default scheduler.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

func main() { serve.Main(demo.Main) }
