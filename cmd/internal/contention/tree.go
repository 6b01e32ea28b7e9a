package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	made                     []string // in the order of making
}

const (
	cgroupRoot = "/sys/fs/cgroup"
	treeName   = "spazio-contention"
)

func newTree() (*tree, error) {
	t := &tree{weights: cgroupRoot, usage: cgroupRoot, pressure: cgroupRoot, v2: true}
	if !exists(filepath.Join(cgroupRoot, "cgroup.controllers")) {
		*t = tree{weights: filepath.Join(cgroupRoot, "cpu"), usage: filepath.Join(cgroupRoot, "cpuacct")}
		if unified := filepath.Join(cgroupRoot, "unified"); exists(filepath.Join(unified, "cgroup.controllers")) {
			t.pressure = unified
		}
	}
	cores, err := onlineCPUs()
	if err != nil {
		return nil, err
	}
	if t.v2 {
		if err := enableCPU(cgroupRoot); err != nil {
			return nil, err
		}
	}
	return t, t.add("", 1024*cores)
}

// add makes a group below the tree with the given cpu.shares.
func (t *tree) add(path string, shares int) error {
	for _, root := range t.roots() {
		dir := filepath.Join(root, treeName, path)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		t.made = append(t.made, dir)
	}
	dir := filepath.Join(t.weights, treeName, path)
	if !t.v2 {
		return writeTo(dir, "cpu.shares", strconv.Itoa(shares))
	}
	return errors.Join(enableCPU(dir), writeTo(dir, "cpu.weight", strconv.Itoa(1+(shares-2)*9999/262142)))
}

// limit gives a group a limit in cores.
func (t *tree) limit(path string, cores float64) error {
	const period = 100_000
	quota := int(cores * period)
	dir := filepath.Join(t.weights, treeName, path)
	if t.v2 {
		return writeTo(dir, "cpu.max", fmt.Sprintf("%d %d", quota, period))
	}
	return writeTo(dir, "cpu.cfs_quota_us", strconv.Itoa(quota))
}

// join moves a process to a group.
func (t *tree) join(path string, pid int) error {
	for _, root := range t.roots() {
		if err := writeTo(filepath.Join(root, treeName, path), "cgroup.procs", strconv.Itoa(pid)); err != nil {
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
