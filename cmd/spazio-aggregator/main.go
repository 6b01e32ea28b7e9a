// Command spazio-aggregator merges the local models of a fleet's nodes into
// one global model and hands it back to them.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/aggregatord"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func main() { command.Main(aggregatord.Main) }
