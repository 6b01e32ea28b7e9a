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
	said := must(t, root, "verify")
	for _, want := range []string{
		"example.org/r/cmd/spazio@v0.1.0", "example.org/r/cmd/kubectl-spazio@v0.1.0", "compiled example.org/r/lib v0.1.0 alone",
		"compiled example.org/r/base v0.1.0 alone", "compiled example.org/r v0.1.0 alone", "no library was released before",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "aside") || strings.Contains(said, "bench") {
		t.Errorf("it took what nobody can install:\n%s", said)
	}
	if changes := git(t, root, "status", "--porcelain"); changes != "" {
		t.Errorf("it changed the tree:\n%s", changes)
	}
}

// Whatever works in the workspace alone is refused, with the place and the reason.
func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		over map[string]string
		why  string
	}{
		"a replace left in the programs' module": {
			map[string]string{"cmd/go.mod": cmdMod("\nreplace example.org/r/lib => ../lib\n")},
			"more replace directives",
		},
		"a replace of somebody else's module": {
			map[string]string{"lib/go.mod": libMod("v0.1.0", "replace (\n\texample.org/dep => ../base\n\texample.org/r/base => ../base\n)\n")},
			"replace example.org/dep: who requires the module gets the original",
		},
		"an exclude": {
			map[string]string{"lib/go.mod": libMod("v0.1.0", "replace example.org/r/base => ../base\n\nexclude example.org/dep v1.2.2\n")},
			"no other module excludes it",
		},
		"a module of another path than its directory's": {
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
		"a sum of somebody else's module that is not its": {
			map[string]string{"lib/go.sum": "example.org/dep v1.2.3 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", "cmd/go.sum": ""},
			"checksum mismatch",
		},
	} {
		t.Run(name, func(t *testing.T) { mustRefuse(t, newTree(t, c.over), c.why, "verify") })
	}
}

// What is verified is what a tag would name.
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

// without is lib without one of its functions.
var without = map[string]string{"lib/lib.go": strings.Replace(tiny["lib/lib.go"], "func Other() {}\n", "", 1)}

// A function that was there at the last release may go with a minor version and a line in
// the change log alone.
func TestRemoved(t *testing.T) {
	root := released(t)
	commit(t, root, without)
	mustRefuse(t, root, "v0.1.1 does not say so: set the next minor version", "verify")
	mustRefuse(t, root, "CHANGELOG.md names nothing of lib", "verify")
	must(t, root, "set", "v0.2")
	commit(t, root, nil)
	mustRefuse(t, root, "CHANGELOG.md names nothing of lib", "verify")
	commit(t, root, map[string]string{"CHANGELOG.md": strings.Replace(tiny["CHANGELOG.md"], "### Added", "### Removed\n\n- `lib.Other`, which did nothing.\n\n### Added", 1)})
	if said := must(t, root, "verify"); !strings.Contains(said, "incompatible in lib: Other: removed") || !strings.Contains(said, "lib v0.2.0 alone") {
		t.Errorf("%s", said)
	}
}

// released is a tree whose modules are tagged at v0.1.0; a tag that is not annotated counts, too, one that
// names no version does not.
func released(t *testing.T) string {
	t.Helper()
	root := newTree(t, nil)
	for _, name := range []string{"v0.1.0", "lib/v0.1.0", "cmd/v0.1.0", "nightly"} {
		git(t, root, "tag", name)
	}
	git(t, root, "tag", "-a", "-m", "first", "base/v0.1.0")
	return root
}

// What is new, or changed below internal, breaks nobody.
func TestAdded(t *testing.T) {
	root := newTree(t, map[string]string{"lib/internal/x/x.go": "package x\n\nfunc X() {}\n"})
	git(t, root, "tag", "lib/v0.1.0")
	commit(t, root, map[string]string{"lib/lib.go": tiny["lib/lib.go"] + "\nfunc More() {}\n", "lib/internal/x/x.go": "package x\n"})
	if said := must(t, root, "verify"); !strings.Contains(said, "lib v0.1.1 alone") || strings.Contains(said, "incompatible") {
		t.Errorf("%s", said)
	}
}

// Each module is tagged when it has changed itself, by the next patch version. What is no part of
// it for others, and other modules, do not count.
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
	// Who needs what is new of base requires it, and is another module by that.
	commit(t, root, map[string]string{"lib/go.mod": libMod("v0.1.2", "replace example.org/r/base => ../base\n")})
	if got := tagsOf(must(t, root, "tag")); got != "base/v0.1.2 v0.1.1 lib/v0.1.1" {
		t.Errorf("tags %s", got)
	}
	if said := must(t, root, "proxy", filepath.Join(t.TempDir(), "proxy")); !strings.Contains(said, "/cmd v0.1.0\n") || !strings.Contains(said, "/lib v0.1.1\n") {
		t.Errorf("%s", said)
	}
	if said := must(t, root, "verify"); strings.Contains(said, "cmd") || !strings.Contains(said, "base v0.1.2 alone") {
		t.Errorf("%s", said)
	}
	// A minor version is everybody's.
	must(t, root, "set", "v0.2")
	commit(t, root, map[string]string{"CHANGELOG.md": "# Changelog\n\n## [0.2.0]\n"})
	if got := tagsOf(must(t, root, "tag")); got != "base/v0.2.0 cmd/v0.2.0 v0.1.1 lib/v0.2.0" {
		t.Errorf("tags %s", got)
	}
}

// tagsOf are the tags that are proposed, in their order.
func tagsOf(said string) string {
	var names []string
	for _, f := range regexp.MustCompile(`git tag -a -m '[^']+' (\S+) \w{40}\n`).FindAllStringSubmatch(said, -1) {
		names = append(names, f[1])
	}
	return strings.Join(names, " ")
}

// TestSetGoesNotBack: no version is set that is older than what a module has been released as.
func TestSetGoesNotBack(t *testing.T) {
	root := released(t)
	git(t, root, "tag", "lib/v0.1.4")
	mustRefuse(t, root, "VERSION = v0.1: it is older than lib/v0.1.4, which is released", "set", "v0.1")
	mustRefuse(t, root, "VERSION = v0.1.3: it is older than lib/v0.1.4, which is released", "set", "v0.1.3")
	if changes := git(t, root, "status", "--porcelain"); changes != "" {
		t.Errorf("what was refused has changed the tree:\n%s", changes)
	}
	must(t, root, "set", "v0.1.4")
}

func TestSet(t *testing.T) {
	root := newTree(t, nil)
	for _, bad := range []string{"0.2", "v", "v0.2.0+meta", "v0.2.0-rc.1", "v2.0.0", "next"} {
		mustRefuse(t, root, "VERSION = "+bad, "set", bad)
	}
	if changes := git(t, root, "status", "--porcelain"); changes != "" {
		t.Errorf("what was refused changed the tree:\n%s", changes)
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
	if said := must(t, root, "verify"); !strings.Contains(said, "base v0.2.0 alone") {
		t.Errorf("%s", said)
	}
}

// The commands change nothing until somebody runs them, and a minor version has a heading in the
// change log.
func TestTag(t *testing.T) {
	root := newTree(t, nil)
	mustRefuse(t, root, "it has no heading of v0.1.0", "tag")
	commit(t, root, map[string]string{"CHANGELOG.md": strings.Replace(tiny["CHANGELOG.md"], "[Unreleased]", "[0.1.0] - 2026-11-23", 1)})
	said := must(t, root, "tag")
	if tags := git(t, root, "tag"); tags != "" {
		t.Errorf("it made tags: %s", tags)
	}
	if got, want := tagsOf(said), "base/v0.1.0 cmd/v0.1.0 v0.1.0 lib/v0.1.0"; got != want || !strings.HasSuffix(said, "git push --atomic origin "+want+"\n") {
		t.Errorf("tags %s, want %s:\n%s", got, want, said)
	}
}
