package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// usage is the CPU time that the files of a kubelet and of /proc tell, since their
// beginning.
type usage struct {
	busy, tree time.Duration
	pods       map[string]time.Duration // by UID
}

// readUsage reads them.
func readUsage(cgroups, proc string) (usage, error) {
	u := usage{pods: map[string]time.Duration{}}
	text, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return u, err
	}
	if u.busy, err = field(text, "cpu", userHZ); err != nil {
		return u, err
	}
	top := filepath.Join(cgroups, "kubepods")
	if u.tree, err = readCPU(top); err != nil {
		return u, err
	}
	pods, err := filepath.Glob(filepath.Join(top, "*", "pod*"))
	if err != nil {
		return u, err
	}
	for _, dir := range pods {
		if u.pods[filepath.Base(dir)[len("pod"):]], err = readCPU(dir); err != nil {
			return u, err
		}
	}
	return u, nil
}

func readCPU(dir string) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	return field(text, "usage_usec", time.Microsecond)
}

// field is the number behind a name at the beginning of a text.
func field(text []byte, name string, unit time.Duration) (time.Duration, error) {
	fields := bytes.Fields(text)
	if len(fields) < 2 || string(fields[0]) != name {
		return 0, fmt.Errorf("%q has no %s", text, name)
	}
	n, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return time.Duration(n) * unit, err
}
