package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// tasks are the tasks of the machine, kernel's threads included and this
// process's own left out. Those that come later are not there.
type tasks struct {
	files []*os.File
	last  []float64 // of each, also when it has ended: seconds waited
}

// newTasks opens the schedstat of every task. The caller must close them, after an
// error too.
func newTasks() (*tasks, error) {
	t := &tasks{}
	paths, err := filepath.Glob("/proc/[0-9]*/task/*/schedstat")
	if err != nil {
		return t, err
	}
	own := []byte("/proc/" + strconv.Itoa(os.Getpid()) + "/")
	for _, path := range paths {
		if bytes.HasPrefix([]byte(path), own) {
			continue
		}
		if f, err := os.Open(path); err == nil { // else it has ended
			t.files = append(t.files, f)
		}
	}
	t.last = make([]float64, len(t.files))
	if len(t.files) == 0 {
		return t, errors.New("the kernel has no schedstat of tasks")
	}
	return t, nil
}

// waited returns the time that all tasks have waited for a CPU, in seconds.
func (t *tasks) waited() float64 {
	sum := 0.
	for i, f := range t.files {
		var ran, waited uint64
		if text, err := contents(f); err == nil {
			if _, err := fmt.Sscanf(string(text), "%d %d", &ran, &waited); err == nil {
				t.last[i] = float64(waited) / 1e9
			}
		}
		sum += t.last[i]
	}
	return sum
}

func (t *tasks) close() {
	for _, f := range t.files {
		_ = f.Close()
	}
}
