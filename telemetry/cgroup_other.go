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

// exists says whether there is something at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
