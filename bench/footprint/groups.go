package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// groups are the cgroups of a node's pods, each of which has containers.
// Safe for concurrent use, but for calls about one pod.
type groups interface {
	// root is where the agent finds them.
	root() string
	makePod(pod string) error
	makeContainer(pod, name string) error
	// start has a process in a container: one under the sandbox's name, or another.
	start(pod, name string, sandbox bool) error
	// end ends the process of a container and removes its cgroup.
	end(pod, name string) error
	removePod(pod string) error
	// close removes what is left.
	close() error
}

// Values of --cgroups.
const (
	groupsAuto   = "auto"
	groupsKernel = "kernel"
	groupsMadeUp = "made-up"
)

// newGroups makes those that o asks for, with what they need in a directory. It returns their kind.
func newGroups(o options, dir string) (groups, string, error) {
	if o.cgroups != groupsMadeUp {
		g, err := newKernelGroups(cgroupRoot, dir)
		switch {
		case err == nil:
			return g, groupsKernel, nil
		case o.cgroups == groupsKernel:
			return nil, "", err
		}
	}
	g, err := newMadeUp(dir, o.usage)
	return g, groupsMadeUp, err
}

// cgroupRoot is where the kernel's are mounted.
const cgroupRoot = "/sys/fs/cgroup"

// kernelGroups are the kernel's own, with a process in each container. They are below a group
// named as the directory that they were made with, where no kubelet looks.
type kernelGroups struct {
	at string
	// classes are the directories of pods, one a hierarchy, and own what is to be removed.
	classes, own []string
	unified      bool
	// pause is a shell by the name of the sandboxes' process.
	pause string

	mu      sync.Mutex
	running map[string]*resident // by pod and container
}

// resident is a process that ends with this one, for its input does.
type resident struct {
	cmd  *exec.Cmd
	stop func()
}

// hierarchies are those of cgroup v1 that tell of pods, as far as a machine has them.
var hierarchies = []string{"cpu,cpuacct", "cpu", "cpuacct", "memory", "pids", "unified"}

// newKernelGroups makes an empty kubelet's tree in the cgroups mounted at mount.
func newKernelGroups(mount, dir string) (_ *kernelGroups, err error) {
	g := &kernelGroups{at: filepath.Join(dir, "cgroup"), running: map[string]*resident{}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("cgroups of the kernel's own: %w", errors.Join(err, g.close()))
		}
	}()
	if g.pause, err = linkPause(dir); err != nil {
		return nil, err
	}
	base := filepath.Base(dir)
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		g.unified = true
		return g, g.addUnified(mount, base)
	}
	if err := os.Mkdir(g.at, 0o755); err != nil {
		return nil, err
	}
	found := ""
	for _, part := range hierarchies {
		if _, err := os.Stat(filepath.Join(mount, part, "cgroup.procs")); err != nil {
			continue
		}
		at, err := filepath.EvalSymlinks(filepath.Join(mount, part)) // cpu may lead to cpu,cpuacct
		if err != nil {
			return nil, err
		}
		own := filepath.Join(at, base)
		if !slices.Contains(g.own, own) {
			err = g.add(own)
		}
		if err := errors.Join(err, os.Symlink(own, filepath.Join(g.at, part))); err != nil {
			return nil, err
		}
		found += part + " "
	}
	if !strings.Contains(found, "cpu") || !strings.Contains(found, "memory") {
		return nil, errNoCgroups
	}
	return g, nil
}

// add makes the kubelet's tree in a hierarchy.
func (g *kernelGroups) add(own string) error {
	class := filepath.Join(own, "kubepods", "besteffort")
	g.own, g.classes = append(g.own, own), append(g.classes, class)
	return os.MkdirAll(class, 0o755)
}

// addUnified makes it in that of cgroup v2, where each group hands its controllers on.
func (g *kernelGroups) addUnified(mount, base string) error {
	g.at = filepath.Join(mount, base)
	if err := g.add(g.at); err != nil {
		return err
	}
	for _, dir := range []string{mount, g.at, filepath.Join(g.at, "kubepods"), g.classes[0]} {
		if err := handOn(dir); err != nil {
			return err
		}
	}
	return nil
}

func handOn(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+cpu +memory"), 0o644)
}

func (g *kernelGroups) root() string { return g.at }

// each does something with a directory of pods' in every hierarchy.
func (g *kernelGroups) each(do func(dir string) error, below ...string) error {
	for _, class := range g.classes {
		if err := do(filepath.Join(append([]string{class}, below...)...)); err != nil {
			return err
		}
	}
	return nil
}

func makeGroup(dir string) error { return os.Mkdir(dir, 0o755) }

func (g *kernelGroups) makePod(pod string) error {
	if err := g.each(makeGroup, pod); err != nil || !g.unified {
		return err
	}
	return g.each(handOn, pod)
}

func (g *kernelGroups) makeContainer(pod, name string) error { return g.each(makeGroup, pod, name) }

func (g *kernelGroups) start(pod, name string, sandbox bool) error {
	script := ""
	_ = g.each(func(dir string) error {
		script += "echo $$ > '" + dir + "/cgroup.procs' && "
		return nil
	}, pod, name)
	path, work := shell, beginning
	if sandbox {
		path, work = g.pause, ""
	}
	r, err := startResident(path, script+work)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.running[pod+"/"+name] = r
	g.mu.Unlock()
	return nil
}

// beginning is what a container does before it rests, some hundredth of a second of work: of one
// that did nothing the hierarchies of cgroup v1 would tell apart.
const beginning = "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; "

// shell runs what is in containers.
const shell = "/bin/sh"

// linkPause gives it the name by which a source tells sandboxes.
func linkPause(dir string) (path string, err error) {
	path = filepath.Join(dir, "pause")
	if err := os.Symlink(shell, path); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return path, nil
}

// startResident starts a shell, whatever its file is called, that rests after a script until
// its input ends.
func startResident(path, script string) (*resident, error) {
	cmd := exec.Command(path, "-c", script+"read -r _")
	cmd.Args[0] = filepath.Base(shell)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// It may have ended by a signal, as of a terminal's.
	return &resident{cmd, func() { _, _ = in.Close(), cmd.Wait() }}, nil
}

func (g *kernelGroups) end(pod, name string) error {
	g.mu.Lock()
	r := g.running[pod+"/"+name]
	delete(g.running, pod+"/"+name)
	g.mu.Unlock()
	if r != nil {
		r.stop()
	}
	return g.each(removeGroup, pod, name)
}

func (g *kernelGroups) removePod(pod string) error { return g.each(removeGroup, pod) }

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

func (g *kernelGroups) close() error {
	for _, r := range g.running {
		r.stop()
	}
	clear(g.running)
	var errs []error
	for _, own := range g.own {
		errs = append(errs, removeGroups(own))
	}
	return errors.Join(errs...)
}

// removeGroups removes a group and those below it.
func removeGroups(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroups(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return removeGroup(dir)
}
