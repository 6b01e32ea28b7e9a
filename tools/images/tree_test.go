package main

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"github.com/spazio-scheduler/spazio/tools/internal/checkout"
)

// published are the modules in a tree's module proxy.
var published = map[xmodule.Version]map[string]string{
	{Path: "example.org/dep", Version: "v1.2.3"}: {
		"go.mod":              "module example.org/dep\n\ngo 1.26.0\n",
		"LICENSE":             "dep's licence\n",
		"dep.go":              "package dep\n\nfunc Do() {}\n",
		"part/NOTICE.txt":     "part's notice\n",
		"part/part.go":        "package part\n\nfunc Do() {}\n",
		"unused/LICENSE":      "of what is not linked\n",
		"unused/unused.go":    "package unused\n",
		"part/licensed.go":    "package part\n",
		"part/license_key.go": "package part\n",
	},
	{Path: "example.org/unlicensed", Version: "v0.1.0"}: {
		"go.mod":        "module example.org/unlicensed\n\ngo 1.26.0\n",
		"unlicensed.go": "package unlicensed\n\nfunc Do() {}\n",
	},
	{Path: "k8s.io/component-base", Version: "v0.37.2"}: {
		"go.mod":             "module k8s.io/component-base\n\ngo 1.26.0\n",
		"LICENSE":            "kubernetes' licence\n",
		"version/version.go": "package version\n\nvar gitVersion = \"v0.0.0-master\"\n\nfunc Get() string { return gitVersion }\n",
	},
	{Path: "k8s.io/kubernetes", Version: "v1.37.2"}: {
		"go.mod":        "module k8s.io/kubernetes\n\ngo 1.26.0\n",
		"LICENSE":       "kubernetes' licence\n",
		"kubernetes.go": "package kubernetes\n\nconst Minor = \" of 37\"\n",
	},
	{Path: "k8s.io/component-base", Version: "v0.36.3"}: {
		"go.mod":             "module k8s.io/component-base\n\ngo 1.26.0\n",
		"LICENSE":            "kubernetes' licence\n",
		"version/version.go": "package version\n\nvar gitVersion = \"v0.0.0-master\"\n\nfunc Get() string { return gitVersion }\n",
	},
	{Path: "k8s.io/kubernetes", Version: "v1.36.3"}: {
		"go.mod":        "module k8s.io/kubernetes\n\ngo 1.26.0\n",
		"LICENSE":       "kubernetes' licence\n",
		"kubernetes.go": "package kubernetes\n\nconst Minor = \" of 36\"\n",
	},
	{Path: "k8s.io/component-base", Version: "v0.35.4"}: {
		"go.mod":             "module k8s.io/component-base\n\ngo 1.26.0\n",
		"LICENSE":            "kubernetes' licence\n",
		"version/version.go": "package version\n\nvar gitVersion = \"v0.0.0-master\"\n\nfunc Get() string { return gitVersion }\n",
	},
	{Path: "k8s.io/kubernetes", Version: "v1.35.4"}: {
		"go.mod":        "module k8s.io/kubernetes\n\ngo 1.26.0\n",
		"LICENSE":       "kubernetes' licence of then\n",
		"kubernetes.go": "package kubernetes\n\nconst Minor = \" of 35\"\n",
	},
}

// tiny is a repository like this one: two programs in a workspace, in a module that requires an
// unpublished sibling, which a third module replaces. They are small, since every test builds them.
var tiny = map[string]string{
	"LICENSE":         "tiny's licence\n",
	"go.mod":          "module github.com/spazio-scheduler/spazio\n\ngo 1.26.0\n",
	"go.work":         "go 1.26.0\n\ntoolchain " + runtime.Version() + "\n\nuse (\n\t./cmd\n\t./examples\n\t./lib\n)\n",
	"examples/go.mod": "module github.com/spazio-scheduler/spazio/examples\n\ngo 1.26.0\n\nreplace github.com/spazio-scheduler/spazio/lib => ../lib\n",
	"lib/go.mod":      "module github.com/spazio-scheduler/spazio/lib\n\ngo 1.26.0\n",
	"lib/lib.go":      "package lib\n\nconst Word = \"from the sibling\"\n",
	"cmd/go.mod": `module github.com/spazio-scheduler/spazio/cmd

go 1.26.0

require (
	example.org/dep v1.2.3
	github.com/spazio-scheduler/spazio/lib v0.1.0
	k8s.io/component-base v0.37.2
	k8s.io/kubernetes v1.37.2
)
`,
	"cmd/spazio-agent/main.go": `package main

import (
	"os"

	"example.org/dep"
	"example.org/dep/part"
	"github.com/spazio-scheduler/spazio/lib"
)

func main() {
	dep.Do()
	part.Do()
	os.Stdout.WriteString(lib.Word)
}
`,
	"cmd/spazio-scheduler/main.go": `package main

import (
	"os"

	"k8s.io/component-base/version"
	"k8s.io/kubernetes"
)

func main() {
	os.Stdout.WriteString(version.Get() + kubernetes.Minor + as)
}
`,
	"cmd/spazio-scheduler/own.go":   "//go:build !kubernetes1.35\n\npackage main\n\nconst as = \"\"\n",
	"cmd/spazio-scheduler/other.go": "//go:build kubernetes1.35\n\npackage main\n\nconst as = \", as it was\"\n",
	"tools/kubernetes/1.36/go.work": otherWork("v0.36.3", "k8s.io/kubernetes => k8s.io/kubernetes v1.36.3"),
	"tools/kubernetes/1.35/go.work": otherWork("v0.35.4", "k8s.io/kubernetes => k8s.io/kubernetes v1.35.4"),
}

// otherWork returns a workspace of the same modules with another version of component-base and further
// replacements.
func otherWork(base, replaced string) string {
	return "go 1.26.0\n\ntoolchain " + runtime.Version() + "\n\nuse (\n\t../../../cmd\n\t../../../examples\n\t../../../lib\n)\n\n" +
		"replace (\n\tk8s.io/component-base => k8s.io/component-base " + base + "\n\t" + replaced + "\n)\n"
}

// newTree creates a repository of the files, laid over tiny's, with one commit. Its modules come from a
// proxy of files, without network access.
func newTree(t *testing.T, over map[string]string) string {
	t.Helper()
	restoreEnvironment(t)
	proxy, sums := newProxy(t)
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOFLAGS", "-modcacherw") // so that the test can remove the cache; images are built without it
	t.Setenv("GOMODCACHE", t.TempDir())
	root := t.TempDir()
	files := maps.Clone(tiny)
	for _, file := range []string{"cmd/go.sum", "tools/kubernetes/1.36/go.work.sum", "tools/kubernetes/1.35/go.work.sum"} {
		files[file] = sums
	}
	maps.Copy(files, over)
	writeFiles(t, root, files)
	git(t, root, "init", "--quiet")
	commit(t, root)
	return root
}

// restoreEnvironment restores the environment at the test's end, which run changes. Settings that must
// not affect the images are unset.
func restoreEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOVCS", "GOAUTH", "GOMODCACHE", "GOCACHE", "GOPATH",
		"GOENV", "GOWORK", "GOTOOLCHAIN", "GOAMD64", "GOARM64", "CGO_ENABLED",
		"GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT", "GODEBUG", "GOFIPS140", "GO111MODULE", "GOROOT", "KOCACHE", "KO_GO_PATH",
	} {
		t.Setenv(name, os.Getenv(name))
		if os.Getenv(name) == "" {
			os.Unsetenv(name)
		}
	}
}

func commit(t *testing.T, root string) {
	t.Helper()
	git(t, root, "add", "--all")
	git(t, root, "-c", "user.name=tester", "-c", "user.email=tester@example.org", "commit", "--quiet", "--message=test: a tree")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := checkout.Output(context.Background(), dir, nil, "git", args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// newProxy writes the published modules as a GOPROXY of files, and returns their go.sum.
func newProxy(t *testing.T) (dir, sums string) {
	t.Helper()
	dir = t.TempDir()
	var lines []string
	for m, files := range published {
		at := m.Path + "/@v/" + m.Version
		writeFiles(t, dir, map[string]string{at + ".mod": files["go.mod"], at + ".info": `{"Version":"` + m.Version + `"}`})
		archive := filepath.Join(dir, filepath.FromSlash(at+".zip"))
		zipModule(t, archive, m, files)
		whole, err := dirhash.HashZip(archive, dirhash.Hash1)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files["go.mod"])), nil })
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, m.Path+" "+m.Version+" "+whole, m.Path+" "+m.Version+"/go.mod "+alone)
	}
	slices.Sort(lines)
	return dir, strings.Join(lines, "\n") + "\n"
}

func zipModule(t *testing.T, archive string, m xmodule.Version, files map[string]string) {
	t.Helper()
	source := t.TempDir()
	writeFiles(t, source, files)
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := zip.CreateFromDir(f, m, source); err != nil {
		t.Fatal(err)
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
