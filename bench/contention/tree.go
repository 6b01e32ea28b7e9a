package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

// classes are where the pods of a trial are.
var classes = []string{"besteffort", "weighted", "mixed"}

// tree is a kubelet's tree of control groups, in every hierarchy that it is
// measured or governed in.
type tree struct {
	// weights governs shares and limits, usage counts CPU time, pressure stalls;
	// pressure is empty where there is no cgroup v2.
	weights, usage, pressure string
	v2                       bool
	name                     string // of its top

	mu   sync.Mutex
	made []string // in the order of making
}

const cgroupRoot = "/sys/fs/cgroup"

// The tops of trees: one that no agent looks for, and a kubelet's.
const (
	comparedTree = "spazio-contention"
	kubeletTree  = "kubepods"
)

// newTree makes the top, with both classes, which must not be there. The caller
// must remove the tree, after an error too.
func newTree(name string) (*tree, error) {
	t := &tree{weights: cgroupRoot, usage: cgroupRoot, pressure: cgroupRoot, v2: true, name: name}
	if !exists(filepath.Join(cgroupRoot, "cgroup.controllers")) {
		t.weights, t.usage, t.pressure, t.v2 = filepath.Join(cgroupRoot, "cpu"), filepath.Join(cgroupRoot, "cpuacct"), "", false
		if unified := filepath.Join(cgroupRoot, "unified"); exists(filepath.Join(unified, "cgroup.controllers")) {
			t.pressure = unified
		}
	}
	cores, err := onlineCPUs()
	if err != nil {
		return t, err
	}
	if t.v2 {
		if err := enableCPU(cgroupRoot); err != nil {
			return t, err
		}
	}
	return t, errors.Join(t.add("", 1024*cores), t.add("besteffort", leastShares), t.add("weighted", weightedShares))
}

// add makes a group below the tree with the given cpu.shares.
func (t *tree) add(path string, shares int) error {
	for _, root := range t.roots() {
		dir := filepath.Join(root, t.name, path)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		t.mu.Lock()
		t.made = append(t.made, dir)
		t.mu.Unlock()
	}
	dir := filepath.Join(t.weights, t.name, path)
	if !t.v2 {
		return writeTo(dir, "cpu.shares", strconv.Itoa(shares))
	}
	return errors.Join(enableCPU(dir), writeTo(dir, "cpu.weight", strconv.Itoa(1+(shares-2)*9999/262142)))
}

// limit gives a group a limit in cores.
func (t *tree) limit(path string, cores float64) error {
	const period = 100_000
	quota := int(cores * period)
	dir := filepath.Join(t.weights, t.name, path)
	if t.v2 {
		return writeTo(dir, "cpu.max", fmt.Sprintf("%d %d", quota, period))
	}
	return writeTo(dir, "cpu.cfs_quota_us", strconv.Itoa(quota))
}

// join moves a process to a group.
func (t *tree) join(path string, pid int) error {
	for _, root := range t.roots() {
		if err := writeTo(filepath.Join(root, t.name, path), "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// roots are the hierarchies, each once.
func (t *tree) roots() []string {
	var roots []string
	for _, root := range []string{t.weights, t.usage, t.pressure} {
		if root != "" && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// drop takes one group away, which may hold nothing.
func (t *tree) drop(path string) error {
	var failed []error
	for _, root := range t.roots() {
		dir := filepath.Join(root, t.name, path)
		failed = append(failed, os.Remove(dir))
		t.mu.Lock()
		t.made = slices.DeleteFunc(t.made, func(made string) bool { return made == dir })
		t.mu.Unlock()
	}
	return errors.Join(failed...)
}

// remove takes the groups away, those within first; none may hold a process.
func (t *tree) remove() error {
	var failed []error
	for _, dir := range slices.Backward(t.made) {
		failed = append(failed, os.Remove(dir))
	}
	t.made = nil
	return errors.Join(failed...)
}

// enableCPU lets the children of a group of cgroup v2 have weights.
func enableCPU(dir string) error { return writeTo(dir, "cgroup.subtree_control", "+cpu") }

func writeTo(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
