//go:build realnode && linux

package realnode

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const cgroups = "/sys/fs/cgroup"

// removeRuns removes what runs left on the machine, this one or a killed one: pod cgroups and
// directories, unless a process still uses them.
func removeRuns() error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), workPrefix+"*"))
	if err != nil {
		return err
	}
	errs := []error{removeGroups()}
	for _, dir := range dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// removeGroups removes the cgroups of pods in every hierarchy.
func removeGroups() error {
	groups, err := podGroups()
	if err != nil {
		return err
	}
	for _, group := range groups {
		if busy, err := os.ReadFile(filepath.Join(group, "cgroup.procs")); err == nil && len(bytes.TrimSpace(busy)) > 0 {
			return fmt.Errorf("%s has processes: another node's?", group)
		}
	}
	// The innermost first.
	for _, group := range slices.Backward(groups) {
		if err := os.Remove(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// podGroups returns the cgroups that the kubelet creates, outer ones before inner ones.
func podGroups() (groups []string, err error) {
	for _, pattern := range []string{"/kubepods", "/*/kubepods"} {
		tops, err := filepath.Glob(cgroups + pattern)
		if err != nil {
			return nil, err
		}
		for _, top := range tops {
			err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					groups = append(groups, path)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return groups, nil
}

// processes returns the command lines in this PID namespace, without the first process and this one.
func processes() (others []string, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		if pid == "1" || pid == fmt.Sprint(os.Getpid()) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && len(line) > 0 {
			others = append(others, pid+" "+strings.ReplaceAll(strings.Trim(string(line), "\x00"), "\x00", " "))
		}
	}
	return others, nil
}

// mounted returns the mount points below a directory.
func mounted(dir string) (points []string, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if point := strings.Fields(line)[4]; strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	return points, nil
}
