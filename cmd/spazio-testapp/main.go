// Command spazio-testapp is the application that spazio-demo compare puts into a cluster,
// and what sends requests to it.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func main() { command.Main(social.Program) }
