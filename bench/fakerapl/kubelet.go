package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
)

// kubelet is a tree of control groups as a kubelet has it on cgroup v2, and a
// /proc/stat, in a directory: files that somebody else's clocks are written to.
type kubelet struct {
	cgroups, proc string
	cpus          int
	stat, tree    *os.File
	pods          []podGroup
}

type podGroup struct {
	uid  string
	stat *os.File
}

// userHZ is the unit of /proc/stat.
const userHZ = 10 * time.Millisecond

func newKubelet(dir string, cpus, pods int) (*kubelet, error) {
	k := &kubelet{cgroups: filepath.Join(dir, "cgroup"), proc: filepath.Join(dir, "proc"), cpus: cpus}
	top := filepath.Join(k.cgroups, "kubepods")
	class := filepath.Join(top, "besteffort")
	err := errors.Join(
		os.MkdirAll(class, 0o755), os.MkdirAll(k.proc, 0o755),
		os.WriteFile(filepath.Join(k.cgroups, "cgroup.controllers"), []byte("cpu memory\n"), 0o644),
	)
	create := func(path string) *os.File {
		f, failed := os.Create(path)
		err = errors.Join(err, failed)
		return f
	}
	k.stat, k.tree = create(filepath.Join(k.proc, "stat")), create(filepath.Join(top, "cpu.stat"))
	for range pods {
		p := podGroup{uid: uuid.NewString()}
		dir := filepath.Join(class, "pod"+p.uid)
		err = errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "memory.stat"), []byte("anon 0\n"), 0o644))
		p.stat = create(filepath.Join(dir, "cpu.stat"))
		k.pods = append(k.pods, p)
	}
	return k, errors.Join(err, k.write(0, make([]time.Duration, pods), 0))
}

// write has the files say what the machine, each pod, and the machine's idle CPUs have
// taken.
func (k *kubelet) write(busy time.Duration, pods []time.Duration, since time.Duration) error {
	idle := max(time.Duration(k.cpus)*since-busy, 0)
	var failed []error
	text := fmt.Appendf(nil, "cpu  %020d 0 0 %020d 0 0 0 0 0 0\n", busy/userHZ, idle/userHZ)
	for cpu := range k.cpus {
		text = fmt.Appendf(text, "cpu%d 0 0 0 0 0 0 0 0 0 0\n", cpu)
	}
	_, err := k.stat.WriteAt(append(text, "procs_running 1\n"...), 0)
	failed = append(failed, err)
	var tree time.Duration
	for i, p := range k.pods {
		tree += pods[i]
		failed = append(failed, writeUsage(p.stat, pods[i]))
	}
	return errors.Join(append(failed, writeUsage(k.tree, tree))...)
}

// writeUsage has one length, so that a reader sees the old text or the new one.
func writeUsage(f *os.File, cpu time.Duration) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "usage_usec %020d\nuser_usec %020[1]d\nsystem_usec 0\n", cpu.Microseconds()), 0)
	return err
}

func (k *kubelet) close() {
	for _, f := range []*os.File{k.stat, k.tree} {
		_ = f.Close()
	}
	for _, p := range k.pods {
		_ = p.stat.Close()
	}
}
