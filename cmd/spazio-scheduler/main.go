// Command spazio-scheduler is kube-scheduler with the plugin Spazio, which
// places pods by what their nodes measure.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

func main() { serve.Main(schedulerd.Main) }
