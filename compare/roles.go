package compare

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spazio-scheduler/spazio/compare/load"
	"github.com/spazio-scheduler/spazio/compare/social"
	"github.com/spazio-scheduler/spazio/simnode/children"
	"github.com/spazio-scheduler/spazio/simnode/slice"
)

// The children's roles. The first three are the program's own ([Roles]).
const (
	roleControlPlane = "control-plane"
	roleScheduler    = "scheduler"
	roleAgent        = "agent"
	roleGenerator    = "generator"
	roleApp          = "app"
	roleLoad         = "load"
)

// Roles are what this package does not bring.
type Roles struct {
	// ControlPlane runs an API server until its context ends. Its argument is the file to
	// write an administrator's kubeconfig to; it says a line when that is there.
	ControlPlane children.Role
	// Scheduler serves the pods of a schedulerName. Its arguments are a kubeconfig, the
	// name, and how many nodes have agents. It says the address that agents report to, or
	// "-" if it wants none, then a line when it has heard of each node.
	Scheduler children.Role
	// Agent is spazio-agent by its arguments.
	Agent children.Role
}

// Table are all roles of a comparison, for children.Init.
func (r Roles) Table() map[string]children.Role {
	return map[string]children.Role{
		roleControlPlane: r.ControlPlane, roleScheduler: r.Scheduler, roleAgent: r.Agent,
		roleGenerator: slice.Main, roleApp: social.Main, roleLoad: load.Main,
	}
}

// noAgents is what a scheduler says that wants none.
const noAgents = "-"

// agentArgs are those of the agent of a slice whose files are in a directory.
func agentArgs(dir, node, scheduler string) []string {
	return []string{
		"--node-name", node, "--schedulers", scheduler, "--listen", "127.0.0.1:0",
		"--proc-root", filepath.Join(dir, "proc"), "--sys-root", dir, "--cgroup-root", filepath.Join(dir, "cgroup"),
		"--pod-source", "cgroup", "--channels", "cpu", "--cpu-mode", "utilisation", "--cpu-counter", "stat",
		"--energy", "powercap", "--log-level", "warn",
	}
}

// ready waits for what a child says once it is ready.
func ready(ctx context.Context, p *children.Process, name string) (string, error) {
	line, err := p.Line(ctx)
	if err != nil {
		return "", fmt.Errorf("start the %s: %w", name, err)
	}
	return strings.TrimSpace(line), nil
}
