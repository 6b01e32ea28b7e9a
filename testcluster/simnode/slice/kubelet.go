package slice

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// kubelet is a tree of control groups as a kubelet has it on cgroup v2, and a /proc of stat and meminfo,
// in a directory, to which the host writes CPU times. It is for one goroutine; the files may
// be read concurrently.
type kubelet struct {
	cgroups, proc string // for /sys/fs/cgroup and /proc
	cpus          int
	stat, tree    *os.File
	pods          map[string]*os.File
	ended         time.Duration // CPU time of the pods that are gone
	idle          time.Duration // as written last
}

// meminfo is that of a machine with constant free memory, which is not measured here.
const meminfo = "MemTotal: 8388608 kB\nMemFree: 7864320 kB\nMemAvailable: 7864320 kB\nBuffers: 0 kB\nCached: 0 kB\n"

// userHZ is the unit of /proc/stat.
const userHZ = 10 * time.Millisecond

// newKubelet makes the files of a machine of so many CPUs without pods: DIR/cgroup and
// DIR/proc. close leaves them.
func newKubelet(dir string, cpus int) (*kubelet, error) {
	k := &kubelet{cgroups: filepath.Join(dir, "cgroup"), proc: filepath.Join(dir, "proc"), cpus: cpus, pods: map[string]*os.File{}}
	err := errors.Join(
		os.MkdirAll(k.class(), 0o755), os.MkdirAll(k.proc, 0o755),
		os.WriteFile(filepath.Join(k.cgroups, "cgroup.controllers"), []byte("cpu memory\n"), 0o644),
		os.WriteFile(filepath.Join(k.proc, "meminfo"), []byte(meminfo), 0o644),
	)
	var failed [2]error
	k.stat, failed[0] = os.Create(filepath.Join(k.proc, "stat"))
	k.tree, failed[1] = os.Create(filepath.Join(k.cgroups, "kubepods", "cpu.stat"))
	if err = errors.Join(err, failed[0], failed[1]); err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, k.write(0, nil, 0)
}

func (k *kubelet) class() string { return filepath.Join(k.cgroups, "kubepods", "besteffort") }

func (k *kubelet) pod(uid string) string { return filepath.Join(k.class(), "pod"+uid) }

// add makes the group of a pod that runs.
func (k *kubelet) add(uid string) error {
	// As of CRI-O, which has no sandbox. The process 0 belongs to another PID namespace.
	container := filepath.Join(k.pod(uid), "crio-"+uid+".scope")
	if err := os.MkdirAll(k.pod(uid), 0o755); err != nil {
		return err
	}
	stat, err := os.Create(filepath.Join(k.pod(uid), "cpu.stat"))
	if err != nil {
		return err
	}
	k.pods[uid] = stat
	return errors.Join(
		writeUsage(stat, 0), os.WriteFile(filepath.Join(k.pod(uid), "memory.stat"), []byte("anon 0\n"), 0o644),
		os.Mkdir(container, 0o755), os.WriteFile(filepath.Join(container, "cgroup.procs"), []byte("0\n"), 0o644),
	)
}

// remove removes the group of a pod, which has taken so much CPU time in all.
func (k *kubelet) remove(uid string, cpu time.Duration) error {
	stat := k.pods[uid]
	delete(k.pods, uid)
	k.ended += cpu
	return errors.Join(stat.Close(), os.RemoveAll(k.pod(uid)))
}

// write updates the files with the CPU time of the machine and of each pod, and the machine's uptime.
func (k *kubelet) write(busy time.Duration, pods map[string]time.Duration, since time.Duration) error {
	k.idle = max(k.idle, time.Duration(k.cpus)*since-busy)
	text := fmt.Appendf(nil, "cpu  %020d 0 0 %020d 0 0 0 0 0 0\n", busy/userHZ, k.idle/userHZ)
	for cpu := range k.cpus {
		text = fmt.Appendf(text, "cpu%d 0 0 0 0 0 0 0 0 0 0\n", cpu)
	}
	_, err := k.stat.WriteAt(append(text, "procs_running 1\n"...), 0)
	tree := k.ended
	for _, uid := range slices.Sorted(maps.Keys(k.pods)) {
		tree += pods[uid]
		err = errors.Join(err, writeUsage(k.pods[uid], pods[uid]))
	}
	return errors.Join(err, writeUsage(k.tree, tree))
}

// writeUsage has one length, so that a reader sees the old text or the new one.
func writeUsage(f *os.File, cpu time.Duration) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "usage_usec %020d\nuser_usec %020[1]d\nsystem_usec 0\n", cpu.Microseconds()), 0)
	return err
}

// close closes the files.
func (k *kubelet) close() error {
	var err error
	for _, f := range append(slices.Collect(maps.Values(k.pods)), k.stat, k.tree) {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
