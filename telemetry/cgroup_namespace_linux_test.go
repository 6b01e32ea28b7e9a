package telemetry_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// TestPIDNamespace: an agent that would see no pods does not start; one that would see them does,
// wherever it runs.
func TestPIDNamespace(t *testing.T) {
	const host, own = "pid:[4026531836]", "pid:[4026532201]"
	for _, tt := range []struct {
		name      string
		cgroups   []string // below the root
		namespace string   // "" is unknown
		first     string   // cgroup of the first process
		refused   bool
	}{
		{"v1, a container", []string{"memory/kubepods/"}, own, "/pod/agent", true},
		{"hybrid, a container", []string{"memory/kubepods/", "unified/cgroup.controllers"}, own, "/pod/agent", true},
		{"v1 with pids, a container", []string{"memory/kubepods/", "pids/kubepods/"}, own, "/pod/agent", false},
		{"v2, a container", []string{"cgroup.controllers", "kubepods/"}, own, "/pod/agent", false},
		{"v1, the host's namespace", []string{"memory/kubepods/"}, host, "/", false},
		{"v1, in the namespace of a node that is a container", []string{"memory/kubepods/"}, own, "/init.scope", false},
		{"v1, nothing told", []string{"memory/kubepods/"}, "", "/pod/agent", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, proc := t.TempDir(), t.TempDir()
			for _, path := range tt.cgroups {
				place(t, root, path)
			}
			place(t, proc, "self/ns/")
			if tt.namespace != "" {
				if err := os.Symlink(tt.namespace, filepath.Join(proc, "self/ns/pid")); err != nil {
					t.Fatal(err)
				}
			}
			place(t, proc, "1/")
			for path, text := range map[string]string{"1/cgroup": tt.first, "self/cgroup": "/pod/agent"} {
				if err := os.WriteFile(filepath.Join(proc, path), []byte("4:memory:"+text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{Root: root, ProcRoot: proc})
			if errors.Is(err, telemetry.ErrPIDNamespace) != tt.refused || !tt.refused && err != nil {
				t.Errorf("%v, want refusal %v", err, tt.refused)
			}
		})
	}
}

// place makes a directory, if the path ends as one, or an empty file.
func place(t *testing.T, root, path string) {
	t.Helper()
	full := filepath.Join(root, path)
	dir := filepath.Dir(full)
	if path[len(path)-1] == '/' {
		dir = full
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if dir != full {
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
