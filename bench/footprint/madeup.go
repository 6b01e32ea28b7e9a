package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// madeUp are the cgroups of a kubelet made up in a directory. The processes in them are
// a pause for every sandbox and this one for every container.
type madeUp struct {
	at string
	// usage: a pod's cgroup has the files that tell what it takes, which lead to those
	// of this process's own cgroups, so that the kernel makes them up at each reading.
	usage []usageLink
	class string // the directory of best-effort pods
	pause *resident
}

func newMadeUp(dir string, usage bool) (*madeUp, error) {
	root := filepath.Join(dir, "made-up")
	m := &madeUp{at: root, class: filepath.Join(root, "kubepods", "besteffort")}
	if usage {
		var err error
		if m.usage, err = usageLinks(cgroupRoot); err != nil {
			return nil, err
		}
		for _, l := range m.usage { // cgroup v1 has a tree a controller; containers are in the CPU's
			if l.name == "cpu.stat" && l.hierarchy != "" {
				m.class = filepath.Join(root, l.hierarchy, "kubepods", "besteffort")
			}
		}
		if err := m.link(func(hierarchy string) string { return filepath.Join(root, hierarchy, "kubepods") }); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(m.class, 0o755); err != nil {
		return nil, err
	}
	pause, err := linkPause(dir)
	if err != nil {
		return nil, err
	}
	m.pause, err = startResident(pause, "")
	return m, err
}

func (m *madeUp) root() string { return m.at }

// beside is the directory of a pod in another hierarchy.
func (m *madeUp) beside(pod, hierarchy string) string {
	return filepath.Join(m.at, hierarchy, "kubepods", "besteffort", pod)
}

// link makes the files of a cgroup, which is in a directory of each hierarchy.
func (m *madeUp) link(dir func(hierarchy string) string) error {
	for _, l := range m.usage {
		at := dir(l.hierarchy)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := os.Symlink(l.target, filepath.Join(at, l.name)); err != nil {
			return err
		}
	}
	return nil
}

func (m *madeUp) makePod(pod string) error {
	if err := m.link(func(hierarchy string) string { return m.beside(pod, hierarchy) }); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(m.class, pod), 0o755)
}

func (m *madeUp) makeContainer(pod, name string) error {
	return os.Mkdir(filepath.Join(m.class, pod, name), 0o755)
}

func (m *madeUp) start(pod, name string, sandbox bool) error {
	pid := os.Getpid()
	if sandbox {
		pid = m.pause.cmd.Process.Pid
	}
	return os.WriteFile(filepath.Join(m.class, pod, name, "cgroup.procs"), fmt.Appendln(nil, pid), 0o644)
}

func (m *madeUp) end(pod, name string) error {
	return os.RemoveAll(filepath.Join(m.class, pod, name))
}

func (m *madeUp) removePod(pod string) error {
	for _, l := range m.usage {
		if err := os.RemoveAll(m.beside(pod, l.hierarchy)); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(m.class, pod))
}

// close ends the sandboxes' process; the directory is the caller's.
func (m *madeUp) close() error {
	m.pause.stop()
	return nil
}
