package telemetry_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spazio-scheduler/spazio/telemetry"
)

func TestCgroupLayout(t *testing.T) {
	for want, files := range map[string][]string{
		"v2": {"cgroup.controllers", "kubepods.slice/x"}, "hybrid": {"cpu,cpuacct/x", "unified/cgroup.controllers"},
		"v1": {"cpuacct,cpu/x", "memory/x"}, "none": {"kubepods/x"},
	} {
		root := t.TempDir()
		for _, file := range files {
			path := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := telemetry.CgroupLayout(root); got != want {
			t.Errorf("%v: %s, want %s", files, got, want)
		}
	}
}
