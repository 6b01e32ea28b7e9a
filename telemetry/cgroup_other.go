//go:build !linux

package telemetry

import (
	"context"
	"os"
)

const inotifySupported = false

// Run returns ErrUnsupported.
func (p *CgroupPods) Run(context.Context, func(PodEvent)) error { return ErrUnsupported }

// directoriesIn lists the directories in dir, sorted.
func directoriesIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// subdirectories lists the directories in dir; none if it is gone.
func subdirectories(dir string) []string { return directories(dir) }

// readInto reads the file at path; the buffer is for systems where that costs less.
func readInto(_ *[]byte, path string) ([]byte, error) { return os.ReadFile(path) }
