package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// maxNested bounds how deep below a container's cgroup its processes are looked
// for (a container that runs its own init has groups of its own).
const maxNested = 4

// stageOf reads how far the container with the cgroup at dir has come. Once it
// is settled, a process named like the runtime is taken for the workload's, and
// one without a readable name for one of another PID namespace.
func stageOf(dir, procRoot string, settled bool) stage {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return starting
	}
	found := starting
	for line := range bytes.Lines(text) {
		pid := string(bytes.TrimSpace(line))
		if pid == "0" {
			return opaque
		}
		comm, err := os.ReadFile(filepath.Join(procRoot, pid, "comm"))
		switch name := string(bytes.TrimSpace(comm)); {
		case os.IsPermission(err):
			return opaque
		case err != nil: // most likely it ended meanwhile
		case name == "pause":
			found = max(found, paused)
		case settled || !isRuntime(name):
			return running
		}
	}
	switch {
	case len(text) == 0 && hasNestedProcess(dir, maxNested):
		return running
	case len(text) > 0 && found == starting && settled:
		return opaque
	}
	return found
}

// isRuntime says whether a process in a container's cgroup is still the
// runtime's: it joins the cgroup ahead of the workload's exec.
func isRuntime(comm string) bool {
	switch comm {
	case "crun", "youki", "runsc", "conmon", "exe":
		return true
	}
	return strings.HasPrefix(comm, "runc")
}

func hasNestedProcess(dir string, depth int) bool {
	entries, err := os.ReadDir(dir)
	if err != nil || depth == 0 {
		return false
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		sub := filepath.Join(dir, e.Name())
		if text, err := os.ReadFile(filepath.Join(sub, "cgroup.procs")); err == nil && len(text) > 0 {
			return true
		}
		if hasNestedProcess(sub, depth-1) {
			return true
		}
	}
	return false
}
