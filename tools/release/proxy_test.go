package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The go command gets the modules from the proxy in the printed versions, and each has a licence.
func TestProxy(t *testing.T) {
	root := newTree(t, nil)
	dir := filepath.Join(t.TempDir(), "proxy")
	output := must(t, root, "proxy", dir)
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
		if got.Version != "v0.1.0" || !strings.Contains(output, module+" v0.1.0\n") {
			t.Errorf("%s: got %+v, output\n%s", module, got, output)
		}
		if files := read(t, got.Dir); files["LICENSE"] != tiny["LICENSE"] {
			t.Errorf("%s: got licence %q", module, files["LICENSE"])
		}
	}
	if strings.Contains(output, "bench") {
		t.Errorf("it publishes modules that are never tagged:\n%s", output)
	}
	mustRefuse(t, root, "file exists", "proxy", dir)
}
