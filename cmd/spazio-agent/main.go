// Command spazio-agent measures the node it runs on and publishes how many pods
// still fit.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

func main() { serve.Main(agentd.Main) }
