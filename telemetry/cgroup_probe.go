package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// prober reads how far containers have come. It keeps its buffers, and goes past
// package os, which costs twice as much for a file of a few bytes: a node that
// starts pods all the time is probed all the time.
type prober struct {
	procRoot string
	// hierarchy is the root of the hierarchy that the containers are found in, pids
	// that of cgroup v1's pids controller.
	hierarchy, pids string
	procs, comm     []byte
}

func newProber(procRoot string) *prober {
	return &prober{procRoot: procRoot, procs: make([]byte, 4<<10), comm: make([]byte, 64)}
}

// in sets where the containers' cgroups are: in a hierarchy below root.
func (p *prober) in(root, hierarchy string) {
	p.hierarchy, p.pids = filepath.Join(root, hierarchy), filepath.Join(root, "pids")
}

// stageOf reads how far the container with the cgroup at dir has come. Once it
// has aged past the runtime's start-up, a process named like the runtime is taken
// for the workload's, and one without a readable name for one of another PID
// namespace.
func (p *prober) stageOf(dir string, aged bool) stage {
	found, populated := p.stageBelow(dir, filepath.Base(dir), aged, maxNested)
	if !populated && p.counts(dir) {
		return opaque
	}
	return found
}

// stageBelow looks at the processes of a cgroup and, if it has none, of those
// below it; container is the name of the container's cgroup.
func (p *prober) stageBelow(dir, container string, aged bool, depth int) (found stage, populated bool) {
	// A group whose processes cannot be read may have others below it.
	if text, err := readInto(&p.procs, dir+"/cgroup.procs"); err == nil && len(text) > 0 {
		return p.stageOfProcesses(text, container, aged), true
	}
	if depth == 0 {
		return starting, false
	}
	for _, name := range subdirectories(dir) {
		below, any := p.stageBelow(dir+"/"+name, container, aged, depth-1)
		if found, populated = max(found, below), populated || any; found == running {
			break
		}
	}
	return found, populated
}

// stageOfProcesses looks at the processes of one cgroup, in the text of its
// cgroup.procs. On cgroup v2 those of another PID namespace are listed as 0.
func (p *prober) stageOfProcesses(text []byte, container string, aged bool) stage {
	found := starting
	for line := range bytes.Lines(text) {
		pid := string(bytes.TrimSpace(line))
		if pid == "0" {
			return opaque
		}
		comm, err := readInto(&p.comm, p.procRoot+"/"+pid+"/comm")
		switch name := string(bytes.TrimSpace(comm)); {
		case os.IsPermission(err):
			return opaque
		case err != nil: // most likely it ended meanwhile
		case isPause(name, container):
			found = max(found, paused)
		case aged || !isRuntime(name):
			return running
		}
	}
	if found == starting && aged {
		return opaque
	}
	return found
}

// counts reports whether the pids controller counts processes in the cgroup at dir:
// cgroup v1 leaves those of another PID namespace out of cgroup.procs.
func (p *prober) counts(dir string) bool {
	below, ok := strings.CutPrefix(dir, p.hierarchy)
	if !ok || p.pids == "" {
		return false
	}
	text, err := readInto(&p.comm, p.pids+below+"/pids.current")
	if err != nil {
		return false
	}
	n, err := ParseCounter(text)
	return err == nil && n > 0
}
