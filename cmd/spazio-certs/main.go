// Command spazio-certs makes and replaces the certificates of Spazio's servers,
// and ends.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/certs"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func main() { command.Main(certs.Main) }
