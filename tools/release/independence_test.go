package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/spazio-scheduler/spazio/tools/internal/checkout"
)

// The modules of this tree are independent: after all are released as v0.1.0 and svd alone has changed,
// only svd is proposed, and the tests of aggregate, taken from the proxy without its replace
// directives, pass with svd v0.1.0. The svd of HEAD panics.
func TestIndependence(t *testing.T) {
	const svd = "github.com/spazio-scheduler/spazio/svd"
	root := filepath.Join(t.TempDir(), "clone")
	git(t, ".", "clone", "--quiet", "--no-tags", "../..", root)
	published, err := checkout.Output(t.Context(), root, nil, filepath.Join(root, ".ci", "run"), "-published")
	if err != nil {
		t.Fatal(err)
	}
	must(t, root, "set", "v0.1")
	git(t, root, "commit", "--quiet", "--allow-empty", "--all", "--message", "the modules require each other at v0.1.0")
	for dir := range strings.FieldsSeq(published) {
		git(t, root, "tag", path.Join(dir, "v0.1.0"))
	}
	mustRefuse(t, root, "no module has changed", "tag")
	commit(t, root, map[string]string{"svd/changed.go": "package svd\n\nfunc init() { panic(\"svd of HEAD\") }\n"})
	if got := tagsOf(must(t, root, "tag")); got != "svd/v0.1.1" {
		t.Fatalf("got tags %s, want svd/v0.1.1 alone", got)
	}
	proxy := filepath.Join(t.TempDir(), "proxy")
	if output := must(t, root, "proxy", proxy); !strings.Contains(output, svd+" v0.1.1\n") {
		t.Errorf("got proxy\n%s", output)
	}
	for _, name := range []string{"aggregate/go.mod", "svd/go.mod"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range file.Replace {
			if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				t.Fatal(err)
			}
		}
		write(t, root, map[string]string{name: string(modfile.Format(file.Syntax))})
	}
	downloads, err := checkout.Output(t.Context(), ".", nil, "go", "env", "GOMODCACHE")
	if err != nil {
		t.Fatal(err)
	}
	further, err := checkout.Output(t.Context(), ".", nil, "go", "env", "GOPROXY")
	if err != nil {
		t.Fatal(err)
	}
	from := []string{fileURL(proxy), fileURL(filepath.Join(strings.TrimSpace(downloads), "cache", "download")), strings.TrimSpace(further)}
	cache := t.TempDir() // the machine's cache must not get an unreleased version
	goes := func(dir string, args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = filepath.Join(root, dir)
		command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOSUMDB=off", "GOMODCACHE="+cache,
			"GOPROXY="+strings.Join(from, ","))
		output, err := command.CombinedOutput()
		return string(output), err
	}
	if output, err := goes("aggregate", "list", "-m", "-f", "{{.Version}} {{.Replace}}", svd); err != nil || strings.TrimSpace(output) != "v0.1.0 <nil>" {
		t.Errorf("aggregate: got svd %s, %v", output, err)
	}
	if output, err := goes("aggregate", "test", "-short", "-vet=off", "./..."); err != nil {
		t.Errorf("aggregate: %v\n%s", err, output)
	}
	if output, err := goes("svd", "test", "-short", "-vet=off", "."); err == nil || !strings.Contains(output, "svd of HEAD") {
		t.Errorf("svd of HEAD passes its tests: %v\n%s", err, output)
	}
}
