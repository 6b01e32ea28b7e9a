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
		"4 modules at v0.1.0 of ", "installed cmd/spazio@latest", "installed cmd/kubectl-spazio@latest",
		"compiled lib alone", "compiled base alone", "compiled . alone", "no release is before this one",
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
			"go install refuses a program whose module has any",
		},
		"a replace of somebody else's module": {
			map[string]string{"lib/go.mod": libMod("v0.1.0", "replace (\n\texample.org/dep => ../base\n\texample.org/r/base => ../base\n)\n")},
			"replace example.org/dep: who requires the module gets the original",
		},
		"a sibling replaced by another": {
			map[string]string{"lib/go.mod": libMod("v0.1.0", "replace example.org/r/base => ../cmd\n"), "bench/go.mod": "module example.org/r/bench\n\ngo 1.26.0\n\nreplace example.org/r/lib => ../lib\n"},
			"that is not its directory",
		},
		"an exclude": {
			map[string]string{"lib/go.mod": libMod("v0.1.0", "replace example.org/r/base => ../base\n\nexclude example.org/dep v1.2.2\n")},
			"nobody else excludes it",
		},
		"a module of which nothing is said": {
			map[string]string{"new/go.mod": "module example.org/r/new\n\ngo 1.26.0\n", "new/new.go": "package new\n"},
			"module = new: not releasable: it is neither",
		},
		"a requirement that is never published": {
			map[string]string{"lib/go.mod": libMod("v0.1.0", "require example.org/r/bench v0.1.0\n\nreplace (\n\texample.org/r/base => ../base\n\texample.org/r/bench => ../bench\n)\n")},
			"it requires example.org/r/bench, which is not published",
		},
		"versions out of step": {
			map[string]string{"lib/go.mod": libMod("v0.1.1", "replace example.org/r/base => ../base\n")},
			"run set",
		},
		"modules in a circle": {
			map[string]string{"base/go.mod": "module example.org/r/base\n\ngo 1.26.0\n\nrequire example.org/r/lib v0.1.0\n\nreplace example.org/r/lib => ../lib\n"},
			"it requires modules that require it",
		},
		"a module of another path than its directory's": {
			map[string]string{"base/go.mod": "module example.org/r/basis\n\ngo 1.26.0\n"},
			"a tag below this directory is example.org/r/base's",
		},
		"a requirement forgotten": {
			map[string]string{"lib/go.mod": "module example.org/r/lib\n\ngo 1.26.0\n\nrequire example.org/dep v1.2.3\n\nreplace example.org/r/base => ../base\n"},
			"who requires it gets example.org/r/base@v0.1.0",
		},
		"a program that does not compile": {
			map[string]string{"cmd/spazio/main.go": "package main\n\nfunc main() { absent() }\n"},
			"undefined: absent",
		},
		"a library that does not compile": {
			map[string]string{"base/part/part.go": "package part\n\nvar X = absent\n"},
			"base in a module of its own",
		},
		"a sum of a sibling that is not its": {
			map[string]string{"cmd/go.sum": "example.org/r/lib v0.1.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"},
			"example.org/r/lib@v0.1.0: not releasable: it says h1:47DEQpj8HBSa+",
		},
		"a sum of somebody else's module that is not its": {
			map[string]string{"lib/go.sum": "example.org/dep v1.2.3 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", "cmd/go.sum": ""},
			"ought to be h1:47DEQpj8HBSa+",
		},
		"no sum of somebody else's module": {
			map[string]string{"lib/go.sum": "", "cmd/go.sum": ""},
			"example.org/dep",
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
				{"verify"}, {"tag"}, {"sums"}, {"set", "v0.2"}, {"proxy", filepath.Join(t.TempDir(), "x")}, {"archives", filepath.Join(t.TempDir(), "x")},
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
	root := newTree(t, nil)
	git(t, root, "tag", "-a", "-m", "first", "lib/v0.1.0")
	git(t, root, "tag", "v0.1.0") // one that is not annotated counts, too
	commit(t, root, without)
	mustRefuse(t, root, "set the next version", "verify")
	must(t, root, "set", "v0.1.1")
	commit(t, root, nil)
	mustRefuse(t, root, "v0.1.1 does not say so: set the next minor version", "verify")
	mustRefuse(t, root, "CHANGELOG.md names nothing of lib", "verify")
	must(t, root, "set", "v0.2")
	commit(t, root, nil)
	mustRefuse(t, root, "CHANGELOG.md names nothing of lib", "verify")
	commit(t, root, map[string]string{"CHANGELOG.md": strings.Replace(tiny["CHANGELOG.md"], "### Added", "### Removed\n\n- `lib.Other`, which did nothing.\n\n### Added", 1)})
	said := must(t, root, "verify")
	if !strings.Contains(said, "1 libraries have changed since v0.1.0") || !strings.Contains(said, "incompatible in lib: Other: removed") {
		t.Errorf("%s", said)
	}
	git(t, root, "tag", "lib/v0.9.0")
	mustRefuse(t, root, "lib/v0.9.0: not releasable: it is later than v0.2.0", "verify")
}

// What is new, or changed below internal, breaks nobody; and without a tag a commit can be
// given.
func TestAdded(t *testing.T) {
	root := newTree(t, map[string]string{"lib/internal/x/x.go": "package x\n\nfunc X() {}\n"})
	git(t, root, "tag", "nightly") // names no version, and so no release
	first := strings.TrimSpace(git(t, root, "rev-parse", "HEAD"))
	commit(t, root, map[string]string{"lib/lib.go": tiny["lib/lib.go"] + "\nfunc More() {}\n", "lib/internal/x/x.go": "package x\n"})
	if said := must(t, root, "verify", "-base", first); !strings.Contains(said, "1 libraries have changed since v0.1.0") || strings.Contains(said, "incompatible") {
		t.Errorf("%s", said)
	}
	commit(t, root, without)
	if said := must(t, root, "verify"); !strings.Contains(said, "no release is before this one") {
		t.Errorf("%s", said)
	}
	mustRefuse(t, root, "Other: removed", "verify", "-base", first)
	mustRefuse(t, root, "commit = nowhere", "verify", "-base", "nowhere")
}

func TestSet(t *testing.T) {
	root := newTree(t, nil)
	for _, bad := range []string{"0.2", "v", "v0.2.0+meta", "v2.0.0", "next"} {
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
	if said := must(t, root, "verify"); !strings.Contains(said, "at v0.2.0") {
		t.Errorf("%s", said)
	}
}

// The tags come in the order of requirements, after the sums, and the commands change
// nothing until somebody runs them.
func TestTag(t *testing.T) {
	root := newTree(t, nil)
	mustRefuse(t, root, "run sums", "tag")
	must(t, root, "sums")
	commit(t, root, nil)
	mustRefuse(t, root, "it has no heading of this version", "tag")
	commit(t, root, map[string]string{"CHANGELOG.md": strings.Replace(tiny["CHANGELOG.md"], "[Unreleased]", "[0.1.0] - 2026-11-23", 1)})
	said := must(t, root, "tag")
	if tags := git(t, root, "tag"); tags != "" {
		t.Errorf("it made tags: %s", tags)
	}
	var names []string
	for _, f := range regexp.MustCompile(`git tag -a -m '[^']+' (\S+) \w{40}\n`).FindAllStringSubmatch(said, -1) {
		names = append(names, f[1])
	}
	if got, want := strings.Join(names, " "), "v0.1.0 base/v0.1.0 lib/v0.1.0 cmd/v0.1.0"; got != want || !strings.HasSuffix(said, "git push --atomic origin "+want+"\n") {
		t.Errorf("tags %s, want %s:\n%s", got, want, said)
	}
	must(t, root, "verify")
	commit(t, root, map[string]string{"base/base.go": "package base\n\nconst Word = \"changed since\"\n"})
	mustRefuse(t, root, "run sums", "tag")
}
