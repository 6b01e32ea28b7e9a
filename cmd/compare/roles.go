package compare

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/slice"
)

// The children's roles. The first four are the program's own ([Roles]).
const (
	roleControlPlane = "control-plane"
	roleScheduler    = "scheduler"
	roleAgent        = "agent"
	rolePower        = "power"
	roleGenerator    = "generator"
	roleApp          = "app"
	roleLoad         = "load"
	roleBurn         = "burn"
)

// Roles are what this package does not bring.
type Roles struct {
	// ControlPlane runs an API server until its context ends. Its argument is the file to
	// write an administrator's kubeconfig to; it writes a line when that exists.
	ControlPlane children.Role
	// Scheduler serves the pods of a schedulerName. Its arguments are a kubeconfig, the
	// name, and how many nodes have agents. It writes the address that agents report to, or
	// "-" if it wants none, then a line when each node has reported.
	Scheduler children.Role
	// Agent is spazio-agent by its arguments, Power spazio-host-energy.
	Agent, Power children.Role
}

// Table are all roles of a comparison, for children.Init.
func (r Roles) Table() map[string]children.Role {
	return map[string]children.Role{
		roleControlPlane: r.ControlPlane, roleScheduler: r.Scheduler, roleAgent: r.Agent, rolePower: r.Power,
		roleGenerator: slice.Main, roleApp: social.Main, roleLoad: social.LoadMain, roleBurn: burn,
	}
}

// noAgents is written by a scheduler that wants no agents.
const noAgents = "-"

// roots are where a machine's files are, as flags of agents and of spazio-host-energy.
func roots(dir string) []string {
	return []string{"--proc-root", filepath.Join(dir, "proc"), "--sys-root", dir, "--cgroup-root", filepath.Join(dir, "cgroup"), "--log-level", "warn"}
}

// agentArgs are those of the agent of a slice whose files are in a directory; with energy
// and without a tree of a host's it has counters of its own.
func agentArgs(dir, node, scheduler, shared string, energy bool) []string {
	args := append(roots(dir), "--node-name", node, "--listen", "127.0.0.1:0",
		"--pod-source", "cgroup", "--channels", "cpu", "--cpu-mode", "utilisation", "--cpu-counter", "stat")
	if scheduler != "" {
		args = append(args, "--schedulers", scheduler)
	}
	switch {
	case energy && shared != "":
		args = append(args, "--energy", "shared", "--energy-shared", shared)
	case energy:
		args = append(args, "--energy", "powercap")
	}
	return args
}

// powerArgs are those of spazio-host-energy on a host, which shares at a directory.
func powerArgs(dir, shared string) []string {
	return append(roots(dir), "--guests", "cgroup", "--energy", "powercap", "--dir", shared, "--listen", "")
}

// ready waits for what a child says once it is ready.
func ready(ctx context.Context, p *children.Process, name string) (string, error) {
	line, err := p.Line(ctx)
	if err != nil {
		return "", fmt.Errorf("start the %s: %w", name, err)
	}
	return strings.TrimSpace(line), nil
}

// burn keeps a CPU busy.
func burn(ctx context.Context, _ []string, _ io.Reader, _ io.Writer) error {
	for ctx.Err() == nil {
	}
	return nil
}
