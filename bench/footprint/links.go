package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// usageLink is a file of a pod's cgroup in a hierarchy, empty on cgroup v2, and the
// file of the kernel that it leads to.
type usageLink struct{ hierarchy, name, target string }

// errNoCgroups: this machine has no cgroups to lead to.
var errNoCgroups = errors.New("no cgroups with cpu and memory at /sys/fs/cgroup")

// usageLinks finds the files of this process's own cgroups below root, or of those at
// the top where a controller has put it there.
func usageLinks(root string) ([]usageLink, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var links []usageLink
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for _, name := range usageNames(fields[1]) {
			target := filepath.Join(root, fields[1], fields[2], name)
			if _, err := os.Stat(target); err == nil {
				links = append(links, usageLink{fields[1], name, target})
			}
		}
	}
	if len(links) < 4 {
		return nil, errNoCgroups
	}
	return links, nil
}

// usageNames are the files that a controller, or cgroup v2, has of a pod.
func usageNames(controllers string) []string {
	switch controllers {
	case "":
		return []string{"cpu.stat", "cpu.pressure", "memory.stat", "memory.current", "memory.peak", "memory.events"}
	case "memory":
		return []string{"memory.stat", "memory.usage_in_bytes", "memory.max_usage_in_bytes"}
	case "cpuacct":
		return []string{"cpuacct.usage"}
	case "cpu":
		return []string{"cpu.stat"}
	case "cpu,cpuacct":
		return []string{"cpu.stat", "cpuacct.usage"}
	}
	return nil
}
