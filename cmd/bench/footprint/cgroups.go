package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// cgroupRoot is where the kernel's are mounted.
const cgroupRoot = "/sys/fs/cgroup"

// errNoCgroups means that there are none, or that they have no cpu or memory.
var errNoCgroups = errors.New("no cgroups with cpu and memory at " + cgroupRoot)

// cgroups are those of a node's pods in the kernel's own hierarchies, with a process in each
// container. They are below a group named as the directory that they were made with, where no
// kubelet looks. Safe for concurrent use, except for calls about one pod.
type cgroups struct {
	// root is where the agent finds them.
	root string
	// tops are what is to be removed, one a hierarchy.
	tops    []string
	unified bool
	// pause is a shell by the name of the sandboxes' process.
	pause string

	mu      sync.Mutex
	running map[string]func() // by container, what ends its process
}

// hierarchies are those of cgroup v1 that tell of pods, as far as a machine has them.
var hierarchies = []string{"cpu,cpuacct", "cpu", "cpuacct", "memory", "pids", "unified"}

// newCgroups makes an empty kubelet's tree in the cgroups mounted at mount.
func newCgroups(mount, dir string) (_ *cgroups, err error) {
	g := &cgroups{root: filepath.Join(dir, "cgroup"), pause: filepath.Join(dir, "pause"), running: map[string]func(){}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("cgroups, which take root: %w", errors.Join(err, g.close()))
		}
	}()
	if err := errors.Join(os.Symlink(shell, g.pause), os.Mkdir(g.root, 0o755)); err != nil {
		return nil, err
	}
	base := filepath.Base(dir)
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		g.unified, g.root = true, filepath.Join(mount, base)
		return g, errors.Join(handOn(mount), g.add(g.root), handOn(g.root), handOn(filepath.Join(g.root, "kubepods")), handOn(g.dirs()[0]))
	}
	found := ""
	for _, part := range hierarchies {
		at, err := filepath.EvalSymlinks(filepath.Join(mount, part)) // cpu may lead to cpu,cpuacct
		if err != nil {
			continue
		}
		top := filepath.Join(at, base)
		if err := errors.Join(g.add(top), os.Symlink(top, filepath.Join(g.root, part))); err != nil {
			return nil, err
		}
		found += part
	}
	if !strings.Contains(found, "cpu") || !strings.Contains(found, "memory") {
		return nil, errNoCgroups
	}
	return g, nil
}

// add makes the kubelet's tree in a hierarchy.
func (g *cgroups) add(top string) error {
	if slices.Contains(g.tops, top) {
		return nil
	}
	g.tops = append(g.tops, top)
	return os.MkdirAll(filepath.Join(top, "kubepods", "besteffort"), 0o755)
}

// handOn has a group of cgroup v2 hand its controllers to those below it.
func handOn(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+cpu +memory"), 0o644)
}

// dirs are the directories of a pod or a container, one a hierarchy.
func (g *cgroups) dirs(below ...string) (all []string) {
	for _, top := range g.tops {
		all = append(all, filepath.Join(top, "kubepods", "besteffort", filepath.Join(below...)))
	}
	return all
}

func (g *cgroups) makePod(pod string) error {
	err := g.makeContainer(pod, "")
	if err == nil && g.unified {
		err = handOn(g.dirs(pod)[0])
	}
	return err
}

func (g *cgroups) makeContainer(pod, name string) (err error) {
	for _, dir := range g.dirs(pod, name) {
		err = errors.Join(err, os.Mkdir(dir, 0o755))
	}
	return err
}

// shell runs what is in containers. beginning is what one does before it rests, some hundredth of a
// second of work: of one that did nothing the hierarchies of cgroup v1 would tell apart.
const (
	shell     = "/bin/sh"
	beginning = "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; "
)

// start has a process in a container, by the sandbox's name or another.
func (g *cgroups) start(pod, name string, sandbox bool) error {
	path, script := shell, ""
	for _, dir := range g.dirs(pod, name) {
		script += "echo $$ > '" + dir + "/cgroup.procs' && "
	}
	if sandbox {
		path = g.pause
	} else {
		script += beginning
	}
	cmd := exec.Command(path, "-c", script+"read -r _")
	cmd.Args[0] = "sh"
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// It ends with this program, for its input does; it may have ended by a signal, as of a terminal's.
	g.running[name] = func() { _, _ = input.Close(), cmd.Wait() }
	return nil
}

// end ends the process of a container and removes its group.
func (g *cgroups) end(pod, name string) (err error) {
	g.mu.Lock()
	stop := g.running[name]
	delete(g.running, name)
	g.mu.Unlock()
	if stop != nil {
		stop()
	}
	for _, dir := range g.dirs(pod, name) {
		err = errors.Join(err, removeGroup(dir))
	}
	return err
}

// removeGroup removes an empty group, which the kernel may hold for a while after its last
// process has ended.
func removeGroup(dir string) error {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if time.Now().After(end) {
			return err
		}
	}
}

// close ends and removes what is left.
func (g *cgroups) close() (err error) {
	for _, stop := range g.running {
		stop()
	}
	for _, top := range g.tops {
		var dirs []string
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			err = errors.Join(err, removeGroup(dir))
		}
	}
	return err
}
