// Command spazio-agent-kube is spazio-agent with one pod source more: kube, the
// API server's watch, for nodes that let an agent see neither the control
// groups nor the runtime's socket. It is a program of its own since linking
// client-go takes megabytes on every node.
package main

import (
	"context"
	"io"

	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func main() { command.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := agentd.NewCommand(&source{})
	c.Use = "spazio-agent-kube"
	return command.Execute(ctx, c, args, stdout, stderr)
}
