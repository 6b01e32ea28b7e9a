package telemetry

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrPIDNamespace is that the processes of pods cannot be seen: the process has a
// PID namespace of its own, from which cgroup v1 shows no others, and there is no
// pids controller whose counts show that they are there.
var ErrPIDNamespace = errors.New("cgroup v1 without the pids controller shows no pod to a process in a PID namespace of its own: run the agent in the host's (hostPID)")

// initialPIDs names the PID namespace of the machine: its inode is a constant of
// Linux (PROC_PID_INIT_INO).
const initialPIDs = "pid:[4026531836]"

// blindInNamespace reports whether pods would be passed over in silence. Where a
// node is itself a container, its namespace is not the machine's; the agent is in
// one of its own only if the first process shares its cgroup.
func (c CgroupConfig) blindInNamespace() bool {
	if exists(filepath.Join(c.Root, "cgroup.controllers")) || exists(filepath.Join(c.Root, "pids")) {
		return false
	}
	namespace, err := os.Readlink(filepath.Join(c.ProcRoot, "self/ns/pid"))
	if err != nil || namespace == initialPIDs {
		return false
	}
	first, err := os.ReadFile(filepath.Join(c.ProcRoot, "1/cgroup"))
	if err != nil {
		return false
	}
	own, err := os.ReadFile(filepath.Join(c.ProcRoot, "self/cgroup"))
	return err == nil && string(own) == string(first)
}
