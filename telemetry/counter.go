package telemetry

import (
	"os"
	"path/filepath"
)

// usage is a counter of CPU time used, summed over CPUs.
type usage struct {
	kind   CPUCounter
	file   *file
	parse  func([]byte) (uint64, error)
	second float64 // units a second
}

// findUsage returns the counter c asks for, nil for CounterStat and where
// CounterAuto finds none better.
func findUsage(c Config) (*usage, error) {
	if c.Counter == CounterAuto || c.Counter == CounterCpuacct {
		if u := findCpuacct(c.CgroupRoot); u != nil {
			return u, nil
		}
	}
	if c.Counter == CounterAuto || c.Counter == CounterCgroup {
		if u := findCPUStat(c.CgroupRoot); u != nil {
			return u, nil
		}
	}
	switch c.Counter {
	case CounterCpuacct:
		return nil, &ChannelError{cpuName, filepath.Join(c.CgroupRoot, "cpuacct", "cpuacct.usage"), os.ErrNotExist}
	case CounterCgroup:
		return nil, &ChannelError{cpuName, filepath.Join(c.CgroupRoot, "cpu.stat"), os.ErrNotExist}
	}
	return nil, nil
}

// findCpuacct looks for the root of the v1 controller. Inside a container the
// same path is the container's own cgroup; only the true root has
// cgroup.sane_behavior.
func findCpuacct(root string) *usage {
	for _, name := range []string{"cpuacct", "cpu,cpuacct", "cpuacct,cpu"} {
		dir := filepath.Join(root, name)
		u := &usage{CounterCpuacct, newFile(filepath.Join(dir, "cpuacct.usage"), 64), ParseCounter, 1e9}
		if exists(filepath.Join(dir, "cgroup.sane_behavior")) && u.works() {
			return u
		}
	}
	return nil
}

// findCPUStat looks for cpu.stat of the root of cgroup v2, in the hybrid layout
// under unified. Inside a container's cgroup namespace the same path is the
// container's own cgroup; only the true root has no cgroup.type.
func findCPUStat(root string) *usage {
	for _, dir := range []string{root, filepath.Join(root, "unified")} {
		u := &usage{CounterCgroup, newFile(filepath.Join(dir, "cpu.stat"), 1<<10), ParseCPUStat, 1e6}
		if exists(filepath.Join(dir, "cgroup.controllers")) && !exists(filepath.Join(dir, "cgroup.type")) && u.works() {
			return u
		}
	}
	return nil
}

func (u *usage) works() bool {
	if _, err := u.read(); err != nil {
		u.file.close()
		return false
	}
	return true
}

func (u *usage) read() (uint64, error) { return readAs(cpuName, u.file, u.parse) }

// stealMargin is how many ticks of steal there must have been before they can be
// found in a counter: the kernel rounds each of the seven times it is compared
// with.
const stealMargin = 20

// countsSteal reports whether steal time is in the counter, as before Linux 6.15 in
// cpu.stat of the root, which sums up what /proc/stat shows: since the start of
// the machine it then exceeds the other times by it. cpuacct measures what tasks
// ran, which steal is not.
func (u *usage) countsSteal(r cpuReading) bool {
	if u.kind != CounterCgroup || r.Steal < stealMargin || r.badBusy != nil {
		return false
	}
	others := float64(r.Busy-r.Steal) / ticksPerSecond
	return float64(r.used)/u.second-others > float64(r.Steal)/ticksPerSecond/2
}
