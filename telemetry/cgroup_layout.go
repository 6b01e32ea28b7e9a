package telemetry

import "path/filepath"

// CgroupLayout reports which control groups are mounted at root, such as
// /sys/fs/cgroup: "v2", "v1", "hybrid" of both, or "none". It distinguishes them as
// systemd does.
func CgroupLayout(root string) string {
	there := func(path string) bool { return exists(filepath.Join(root, path)) }
	switch {
	case there("cgroup.controllers"):
		return "v2"
	case there("unified/cgroup.controllers"):
		return "hybrid"
	case there("cpu"), there("cpu,cpuacct"), there("cpuacct,cpu"), there("pids"):
		return "v1"
	}
	return "none"
}
