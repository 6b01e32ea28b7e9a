// Command spazio-agent-kube is spazio-agent with one pod source more: kube, the
// API server's watch, for nodes that let an agent see neither the control
// groups nor the runtime's socket. It is a program of its own since linking
// client-go takes megabytes on every node.
package main

import (
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd/agentkube"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func main() { command.Main(agentkube.Main) }
