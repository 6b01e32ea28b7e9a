package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestVerify(t *testing.T) {
	root := newTree(t, nil)
	output := must(t, root, "verify")
	for _, want := range []string{
		"example.org/r/cmd/spazio@v0.1.0", "example.org/r/cmd/kubectl-spazio@v0.1.0", "compiled example.org/r/lib v0.1.0 alone",
		"compiled example.org/r/base v0.1.0 alone", "compiled example.org/r v0.1.0 alone",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("%q is missing in:\n%s", want, output)
		}
	}
	if strings.Contains(output, "aside") || strings.Contains(output, "bench") {
		t.Errorf("it accepted a program that cannot be installed:\n%s", output)
	}
	if changes := git(t, root, "status", "--porcelain"); changes != "" {
		t.Errorf("it changed the tree:\n%s", changes)
	}
}

// What works only in the workspace is refused, with the place and the reason.
func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		over map[string]string
		why  string
	}{
		"a replace left in the programs' module": {
			map[string]string{"cmd/go.mod": cmdMod("\nreplace example.org/r/lib => ../lib\n")},
			"more replace directives",
		},
		"a replace of a foreign module": {
			map[string]string{"lib/go.mod": libMod("v0.1.0", "replace (\n\texample.org/dep => ../base\n\texample.org/r/base => ../base\n)\n")},
			"replace example.org/dep: who requires the module gets the original",
		},
		"an exclude": {
			map[string]string{"lib/go.mod": libMod("v0.1.0", "replace example.org/r/base => ../base\n\nexclude example.org/dep v1.2.2\n")},
			"no other module excludes it",
		},
		"a module whose path differs from its directory's": {
			map[string]string{"base/go.mod": "module example.org/r/basis\n\ngo 1.26.0\n"},
			"module declares its path as: example.org/r/basis",
		},
		"a program that does not compile": {
			map[string]string{"cmd/spazio/main.go": "package main\n\nfunc main() { absent() }\n"},
			"undefined: absent",
		},
		"a library that does not compile": {
			map[string]string{"base/part/part.go": "package part\n\nvar X = absent\n"},
			"base in a module of its own",
		},
		"a wrong sum of a foreign module": {
			map[string]string{"lib/go.sum": "example.org/dep v1.2.3 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", "cmd/go.sum": ""},
			"checksum mismatch",
		},
	} {
		t.Run(name, func(t *testing.T) { mustRefuse(t, newTree(t, c.over), c.why, "verify") })
	}
}

// The verified tree is the one that a tag would name.
func TestDirty(t *testing.T) {
	for name, change := range map[string]map[string]string{
		"changed": {"lib/lib.go": "package lib\n"}, "new": {"lib/new.go": "package lib\n"}, "gone": {"lib/lib.go": ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := newTree(t, nil)
			write(t, root, change)
			for _, task := range [][]string{
				{"verify"}, {"tag"}, {"set", "v0.2"}, {"proxy", filepath.Join(t.TempDir(), "x")}, {"archives", filepath.Join(t.TempDir(), "x")},
			} {
				mustRefuse(t, root, "changes beyond HEAD", task[0], task[1:]...)
			}
		})
	}
}

// released returns a tree whose modules are tagged at v0.1.0; a lightweight tag counts, too, one
// without a version does not.
func released(t *testing.T) string {
	t.Helper()
	root := newTree(t, nil)
	for _, name := range []string{"v0.1.0", "lib/v0.1.0", "cmd/v0.1.0", "nightly"} {
		git(t, root, "tag", name)
	}
	git(t, root, "tag", "-a", "-m", "first", "base/v0.1.0")
	return root
}

// Each module is tagged when it has changed itself, with the next patch version. Files that are no part
// of it for its users, and other modules, do not count.
func TestVersions(t *testing.T) {
	root := released(t)
	mustRefuse(t, root, "no module has changed", "tag")
	commit(t, root, map[string]string{
		"base/base_test.go": "package base\n", "lib/testdata/x": "x", "README.md": "# r\n", "docs/a.svg": "<svg/>", ".ci/more": "x",
		"cmd/go.sum": "", "bench/more.go": "package main\n",
	})
	mustRefuse(t, root, "no module has changed", "tag")
	commit(t, root, map[string]string{"base/base.go": "// Package base is mended.\npackage base\n\nconst Word = \"from the base\"\n"})
	if got := tagsOf(must(t, root, "tag")); got != "base/v0.1.1" {
		t.Errorf("tags %s", got)
	}
	git(t, root, "tag", "base/v0.1.1")
	commit(t, root, map[string]string{"base/base.go": "// Package base is mended again.\npackage base\n\nconst Word = \"from the base\"\n", "doc.go": "// Package r is new.\npackage r\n"})
	if got := tagsOf(must(t, root, "tag")); got != "base/v0.1.2 v0.1.1" {
		t.Errorf("tags %s", got)
	}
	// A module that needs the new base requires it, and has thereby changed.
	commit(t, root, map[string]string{"lib/go.mod": libMod("v0.1.2", "replace example.org/r/base => ../base\n")})
	if got := tagsOf(must(t, root, "tag")); got != "base/v0.1.2 v0.1.1 lib/v0.1.1" {
		t.Errorf("tags %s", got)
	}
	if output := must(t, root, "proxy", filepath.Join(t.TempDir(), "proxy")); !strings.Contains(output, "/cmd v0.1.0\n") || !strings.Contains(output, "/lib v0.1.1\n") {
		t.Errorf("%s", output)
	}
	if output := must(t, root, "verify"); strings.Contains(output, "cmd") || !strings.Contains(output, "base v0.1.2 alone") {
		t.Errorf("%s", output)
	}
	// A minor version applies to all modules.
	must(t, root, "set", "v0.2")
	commit(t, root, map[string]string{"CHANGELOG.md": "# Changelog\n\n## [0.2.0]\n"})
	if got := tagsOf(must(t, root, "tag")); got != "base/v0.2.0 cmd/v0.2.0 v0.1.1 lib/v0.2.0" {
		t.Errorf("tags %s", got)
	}
}

// tagsOf returns the proposed tags, in their order.
func tagsOf(output string) string {
	var names []string
	for _, f := range regexp.MustCompile(`git tag -a -m '[^']+' (\S+) \w{40}\n`).FindAllStringSubmatch(output, -1) {
		names = append(names, f[1])
	}
	return strings.Join(names, " ")
}

// TestSetGoesNotBack: a version older than a module's released one is refused.
func TestSetGoesNotBack(t *testing.T) {
	root := released(t)
	git(t, root, "tag", "lib/v0.1.4")
	mustRefuse(t, root, "VERSION = v0.1: it is older than lib/v0.1.4, which is released", "set", "v0.1")
	mustRefuse(t, root, "VERSION = v0.1.3: it is older than lib/v0.1.4, which is released", "set", "v0.1.3")
	if changes := git(t, root, "status", "--porcelain"); changes != "" {
		t.Errorf("a refused command changed the tree:\n%s", changes)
	}
	must(t, root, "set", "v0.1.4")
}

func TestSet(t *testing.T) {
	root := newTree(t, nil)
	for _, bad := range []string{"0.2", "v", "v0.2.0+meta", "v0.2.0-rc.1", "v2.0.0", "next"} {
		mustRefuse(t, root, "VERSION = "+bad, "set", bad)
	}
	if changes := git(t, root, "status", "--porcelain"); changes != "" {
		t.Errorf("a refused command changed the tree:\n%s", changes)
	}
	must(t, root, "set", "v0.2")
	required := regexp.MustCompile(`example\.org/r/\w+ (v\S+)`)
	for name, want := range map[string]int{"lib": 1, "cmd": 2, "bench": 1, "base": 0} {
		text, err := os.ReadFile(filepath.Join(root, name, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		found := required.FindAllSubmatch(text, -1)
		if len(found) != want {
			t.Errorf("%s requires %d siblings, want %d:\n%s", name, len(found), want, text)
		}
		for _, f := range found {
			if string(f[1]) != "v0.2.0" {
				t.Errorf("%s requires %s", name, f[0])
			}
		}
	}
	commit(t, root, nil)
	if output := must(t, root, "verify"); !strings.Contains(output, "base v0.2.0 alone") {
		t.Errorf("%s", output)
	}
}

// The printed commands change nothing until they are run, and a minor version has a heading in the
// change log.
func TestTag(t *testing.T) {
	root := newTree(t, nil)
	mustRefuse(t, root, "it has no heading of v0.1.0", "tag")
	commit(t, root, map[string]string{"CHANGELOG.md": strings.Replace(tiny["CHANGELOG.md"], "[Unreleased]", "[0.1.0] - 2026-11-23", 1)})
	output := must(t, root, "tag")
	if tags := git(t, root, "tag"); tags != "" {
		t.Errorf("got tags: %s", tags)
	}
	if got, want := tagsOf(output), "base/v0.1.0 cmd/v0.1.0 v0.1.0 lib/v0.1.0"; got != want || !strings.HasSuffix(output, "git push --atomic origin "+want+"\n") {
		t.Errorf("tags %s, want %s:\n%s", got, want, output)
	}
}
