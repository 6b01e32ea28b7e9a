package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// tiny is a repository like this one: a library that requires another and a foreign module, programs
// that are installed by version, one that cannot be, and measurements that are never tagged.
var tiny = map[string]string{
	"LICENSE":      "tiny's licence\n",
	"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- `lib.Word`.\n\n## [0.0.1]\n\n### Removed\n\n- `lib.Old`.\n",
	"go.mod":       "module example.org/r\n\ngo 1.26.0\n",
	"doc.go":       "// Package r is tiny.\npackage r\n",
	"go.work":      "go 1.26.0\n\ntoolchain " + runtime.Version() + "\n\nuse (\n\t.\n\t./base\n\t./bench\n\t./cmd\n\t./lib\n)\n",
	".ci/run": `#!/bin/sh
[ "$1" = -published ] && printf '%s\n' . base cmd lib
`,
	"base/go.mod":  "module example.org/r/base\n\ngo 1.26.0\n",
	"base/base.go": "package base\n\nconst Word = \"from the base\"\n",
	"lib/go.mod":   libMod("v0.1.0", "replace example.org/r/base => ../base\n"),
	"lib/lib.go":   "package lib\n\nimport (\n\t\"example.org/dep\"\n\t\"example.org/r/base\"\n)\n\nfunc Word() string { return dep.Word + base.Word }\n\nfunc Other() {}\n",
	"cmd/go.mod":   cmdMod(""),
	"cmd/spazio/main.go": `package main

import (
	"os"
	"runtime/debug"

	"example.org/r/lib"
)

func main() {
	info, _ := debug.ReadBuildInfo()
	os.Stdout.WriteString(os.Args[0] + " " + info.Main.Version + lib.Word() + "\n")
}
`,
	"cmd/kubectl-spazio/main.go": `package main

import (
	"os"
	"runtime/debug"
)

func main() {
	info, _ := debug.ReadBuildInfo()
	os.Stdout.WriteString(os.Args[0] + " " + info.Main.Version + "\n")
}
`,
	"cmd/internal/aside/main.go": "package main\n\nfunc main() {}\n",
	"bench/go.mod":               "module example.org/r/bench\n\ngo 1.26.0\n\nrequire example.org/r/base v0.1.0\n\nreplace (\n\texample.org/r/base => ../base\n\texample.org/r/lib => ../lib\n)\n",
	"bench/main.go":              "package main\n\nimport \"example.org/r/base\"\n\nfunc main() { println(base.Word) }\n",
}

func libMod(version, more string) string {
	return "module example.org/r/lib\n\ngo 1.26.0\n\nrequire (\n\texample.org/dep v1.2.3\n\texample.org/r/base " + version + "\n)\n" + "\n" + more
}

func cmdMod(more string) string {
	return "module example.org/r/cmd\n\ngo 1.26.0\n\nrequire example.org/r/lib v0.1.0\n\nrequire (\n\texample.org/dep v1.2.3 // indirect\n\texample.org/r/base v0.1.0 // indirect\n)\n" + more
}

// newTree creates a repository of the files, laid over tiny's, with one commit. Foreign modules come
// from a proxy of files into the test's own cache, without the network or the machine's cache.
func newTree(t *testing.T, over map[string]string) string {
	t.Helper()
	for name, value := range map[string]string{
		"GOSUMDB": "off", "GOFLAGS": "-modcacherw", "GOENV": "off", "GOMODCACHE": t.TempDir(),
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
	} {
		t.Setenv(name, value)
	}
	proxy, depSums := newDep(t)
	t.Setenv("GOPROXY", fileURL(proxy))
	root := t.TempDir()
	files := maps.Clone(tiny)
	files["lib/go.sum"], files["cmd/go.sum"], files["go.work.sum"] = depSums, depSums, depSums
	maps.Copy(files, over)
	git(t, root, "init", "--quiet", "--initial-branch=main")
	commit(t, root, files)
	return root
}

// newDep creates a proxy with example.org/dep, and returns its lines in go.sum.
func newDep(t *testing.T) (dir, lines string) {
	t.Helper()
	dir = t.TempDir()
	source := t.TempDir()
	write(t, source, map[string]string{
		"go.mod": "module example.org/dep\n\ngo 1.26.0\n", "dep.go": "package dep\n\nconst Word = \"from elsewhere, \"\n",
	})
	v := xmodule.Version{Path: "example.org/dep", Version: "v1.2.3"}
	write(t, dir, map[string]string{
		"example.org/dep/@v/list": "v1.2.3\n", "example.org/dep/@v/v1.2.3.info": `{"Version":"v1.2.3"}`,
		"example.org/dep/@v/v1.2.3.mod": "module example.org/dep\n\ngo 1.26.0\n",
	})
	name := filepath.Join(dir, "example.org/dep/@v/v1.2.3.zip")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(file, v, source); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	zipped, err := dirhash.HashZip(name, dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return os.Open(filepath.Join(source, "go.mod")) })
	if err != nil {
		t.Fatal(err)
	}
	return dir, "example.org/dep v1.2.3 " + zipped + "\nexample.org/dep v1.2.3/go.mod " + mod + "\n"
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o666)
		if strings.HasPrefix(text, "#!") {
			mode = 0o777
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// commit writes the files, removes the empty ones and commits everything.
func commit(t *testing.T, root string, files map[string]string) {
	t.Helper()
	write(t, root, files)
	git(t, root, "add", "--all")
	git(t, root, "commit", "--quiet", "--allow-empty", "--message", "change")
}

func git(t *testing.T, root string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// releases runs the command on a repository.
func releases(root, name string, args ...string) (code int, stdout, stderr string) {
	var out, complaint bytes.Buffer
	code = command(context.Background(), append([]string{name, "-root", root}, args...), &out, &complaint)
	return code, out.String(), complaint.String()
}

// must runs the command and expects success.
func must(t *testing.T, root, name string, args ...string) string {
	t.Helper()
	code, stdout, stderr := releases(root, name, args...)
	if code != 0 {
		t.Fatalf("%s %v: %d\n%s%s", name, args, code, stdout, stderr)
	}
	return stdout
}

// mustRefuse runs the command and expects a failure with the reason.
func mustRefuse(t *testing.T, root, why, name string, args ...string) {
	t.Helper()
	code, stdout, stderr := releases(root, name, args...)
	if code != 1 || !strings.Contains(stderr, why) {
		t.Errorf("%s %v: %d, want 1 and %q\n%s%s", name, args, code, why, stdout, stderr)
	}
}
