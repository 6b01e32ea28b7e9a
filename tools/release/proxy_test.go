package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The go command takes the modules from the proxy in the versions that were printed, and each has a
// licence.
func TestProxy(t *testing.T) {
	root := newTree(t, nil)
	dir := filepath.Join(t.TempDir(), "proxy")
	said := must(t, root, "proxy", dir)
	t.Setenv("GOPROXY", fileURL(dir))
	for _, module := range []string{"example.org/r", "example.org/r/base", "example.org/r/lib", "example.org/r/cmd"} {
		cmd := exec.Command("go", "mod", "download", "-json", module+"@latest")
		cmd.Dir = t.TempDir()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", module, err, out)
		}
		var got struct{ Version, Dir string }
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if got.Version != "v0.1.0" || !strings.Contains(said, module+" v0.1.0\n") {
			t.Errorf("%s is %+v, and it was said\n%s", module, got, said)
		}
		if files := read(t, got.Dir); files["LICENSE"] != tiny["LICENSE"] {
			t.Errorf("%s has the licence %q", module, files["LICENSE"])
		}
	}
	if strings.Contains(said, "bench") {
		t.Errorf("it publishes what is never tagged:\n%s", said)
	}
	mustRefuse(t, root, "file exists", "proxy", dir)
}
