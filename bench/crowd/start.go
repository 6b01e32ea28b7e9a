package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// runtimes are what can start a task.
var runtimes = []string{"child", "runc", "containerd"}

// starter starts tasks by one runtime.
type starter struct {
	options
	runtime   string
	self, dir string // this program; what is removed at the end
}

func newStarter(o options, runtime string) (*starter, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "spazio-crowd-")
	if err != nil {
		return nil, err
	}
	s := &starter{options: o, runtime: runtime, self: self, dir: dir}
	if runtime != "child" {
		for _, name := range append([]string{taskPath}, libraries...) {
			if err := s.place(name); err != nil {
				return nil, errors.Join(err, s.close())
			}
		}
	}
	return s, nil
}

// close removes what was made for the tasks, all of which have ended; runc leaves
// the parent of their control groups.
func (s *starter) close() error {
	err := os.RemoveAll(s.dir)
	if s.runtime == "runc" {
		groups, _ := filepath.Glob("/sys/fs/cgroup/*" + groupsPath)
		for _, dir := range append(groups, "/sys/fs/cgroup"+groupsPath) {
			if e := os.Remove(dir); !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}
	return err
}

// groupsPath is where the control groups of runc's containers are.
const groupsPath = "/spazio-crowd"

// A container's root holds this program and, since it may be linked to them, the
// machine's libraries, all mounted.
const taskPath = "crowd"

var libraries = []string{"lib", "lib64", "usr/lib"}

func (s *starter) root() string { return filepath.Join(s.dir, "root") }

// place makes what a mount goes onto.
func (s *starter) place(name string) error {
	path := filepath.Join(s.root(), name)
	if name == taskPath {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, nil, 0o755)
	}
	return os.MkdirAll(path, 0o755)
}

// mounts are the pairs of what is mounted in a container's root, and where.
func (s *starter) mounts() [][2]string {
	m := [][2]string{{s.self, "/" + taskPath}}
	for _, name := range libraries {
		if _, err := os.Stat("/" + name); err == nil {
			m = append(m, [2]string{"/" + name, "/" + name})
		}
	}
	return m
}

// run runs a task to its end. The name is one that no other task has.
func (s *starter) run(ctx context.Context, name string, args ...string) (done, error) {
	c, err := s.command(ctx, name, append([]string{"task"}, args...))
	if err != nil {
		return done{}, err
	}
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return done{}, fmt.Errorf("%s: %w: %s", s.runtime, err, strings.TrimSpace(stderr.String()))
	}
	d, err := readDone(&stdout)
	if err != nil {
		return d, fmt.Errorf("%s: %w: %s", s.runtime, err, strings.TrimSpace(stderr.String()))
	}
	return d, nil
}

func (s *starter) command(ctx context.Context, name string, args []string) (*exec.Cmd, error) {
	switch s.runtime {
	case "runc":
		bundle := filepath.Join(s.dir, name)
		if err := s.bundle(bundle, args); err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, "runc", "--root", filepath.Join(s.dir, "state"), "run", "--bundle", bundle, name), nil
	case "containerd":
		call := []string{"--address", s.containerd, "--namespace", "spazio-crowd", "run", "--rm", "--rootfs"}
		for _, m := range s.mounts() {
			call = append(call, "--mount", fmt.Sprintf("type=bind,src=%s,dst=%s,options=rbind:ro", m[0], m[1]))
		}
		return exec.CommandContext(ctx, s.ctr, append(append(call, s.root(), name, "/"+taskPath), args...)...), nil
	}
	return exec.CommandContext(ctx, s.self, args...), nil
}

// bundle writes what runc wants of a container: namespaces as a pod's container
// has them, a control group of its own, nothing else.
func (s *starter) bundle(dir string, args []string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	type object = map[string]any
	mounts := []object{{"destination": "/proc", "type": "proc", "source": "proc"}}
	for _, m := range s.mounts() {
		mounts = append(mounts, object{"destination": m[1], "type": "bind", "source": m[0], "options": []string{"rbind", "ro"}})
	}
	var namespaces []object
	for _, kind := range []string{"pid", "ipc", "uts", "mount", "network"} {
		namespaces = append(namespaces, object{"type": kind})
	}
	text, err := json.Marshal(object{
		"ociVersion": "1.0.2",
		"process":    object{"user": object{"uid": 0, "gid": 0}, "args": append([]string{"/" + taskPath}, args...), "cwd": "/"},
		"root":       object{"path": s.root()},
		"mounts":     mounts,
		"linux":      object{"cgroupsPath": groupsPath + "/" + filepath.Base(dir), "namespaces": namespaces},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), text, 0o644)
}
