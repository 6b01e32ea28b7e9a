package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// tree holds the modules of a commit.
type tree struct {
	root      string
	revision  string    // the commit's hash
	committed time.Time // when
	path      string    // the root module's, which begins that of all others
	published []*module // those that are tagged, each after those it requires
	others    []*module // those that never are
	forgotten []string  // directories of modules of which nothing is said
}

// module is one go.mod of the tree.
type module struct {
	dir  string // slash-separated, "" for the root
	text []byte // go.mod's
	file *modfile.File
	// programs are the import paths of what go install makes of it.
	programs []string
}

func (m *module) path() string { return m.file.Module.Mod.Path }

// named is how a person calls it.
func (m *module) named() string { return path.Join(".", m.dir) }

// open reads the modules of HEAD. The tree must have nothing else: what is verified has to
// be what somebody reads, and tags name commits alone.
func open(ctx context.Context, root string) (*tree, error) {
	changes, err := output(ctx, root, nil, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, invalid("root", root, "there are changes beyond HEAD: commit or undo them first\n"+changes)
	}
	t, err := readCommit(ctx, root, "HEAD")
	if err != nil {
		return nil, err
	}
	if err := t.sort(ctx); err != nil {
		return nil, err
	}
	programs, err := t.findPrograms(ctx)
	for _, m := range t.published {
		m.programs = programs[m.path()]
	}
	return t, err
}

// readCommit reads every go.mod of a commit; none is published yet.
func readCommit(ctx context.Context, root, revision string) (*tree, error) {
	said, err := output(ctx, root, nil, "git", "log", "-1", "--format=%H %ct", revision, "--")
	if err != nil {
		return nil, refused("commit", revision, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	hash, seconds, _ := strings.Cut(strings.TrimSpace(said), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, invalid("commit", revision, "git tells no time of it: "+said)
	}
	t := &tree{root: root, revision: hash, committed: time.Unix(unix, 0).UTC()}
	names, err := output(ctx, root, nil, "git", "ls-tree", "-r", "--name-only", "-z", hash)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(names, "\x00") {
		if path.Base(name) != "go.mod" {
			continue
		}
		text, err := output(ctx, root, nil, "git", "show", hash+":"+name)
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, []byte(text), nil)
		if err != nil {
			return nil, refused("go.mod", name, fmt.Errorf("%w: %w", ErrInvalid, err))
		}
		if file.Module == nil {
			return nil, invalid("go.mod", name, "it names no module")
		}
		m := &module{dir: strings.TrimSuffix(strings.TrimSuffix(name, "go.mod"), "/"), text: []byte(text), file: file}
		if m.dir == "" {
			t.path = m.path()
		}
		t.others = append(t.others, m)
	}
	if t.path == "" {
		return nil, invalid("root", root, "it has no go.mod")
	}
	return t, nil
}

// sort tells the modules that are published, which .ci/run knows, and puts them into the
// order in which they require each other.
func (t *tree) sort(ctx context.Context) error {
	lists := map[string][]string{}
	for _, which := range []string{"-published", "-unpublished"} {
		said, err := output(ctx, t.root, nil, filepath.Join(t.root, ".ci", "run"), which)
		if err != nil {
			return err
		}
		for dir := range strings.FieldsSeq(said) {
			lists[which] = append(lists[which], strings.TrimPrefix(dir, "."))
		}
	}
	var others []*module
	for _, m := range t.others {
		switch {
		case slices.Contains(lists["-published"], m.dir):
			t.published = append(t.published, m)
		case slices.Contains(lists["-unpublished"], m.dir):
			others = append(others, m)
		default:
			t.forgotten = append(t.forgotten, m.named())
		}
	}
	t.others = others
	var err error
	t.published, err = inOrder(t.published)
	return err
}

// inOrder returns the modules each after those of them that it requires, else by their
// directories.
func inOrder(modules []*module) ([]*module, error) {
	left := slices.SortedFunc(slices.Values(modules), func(a, b *module) int { return strings.Compare(a.dir, b.dir) })
	var sorted []*module
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(m *module) bool {
			return !slices.ContainsFunc(m.file.Require, func(r *modfile.Require) bool {
				return slices.ContainsFunc(left, func(other *module) bool { return other != m && other.path() == r.Mod.Path })
			})
		})
		if i < 0 {
			return nil, invalid("go.mod", left[0].named(), "it requires modules that require it")
		}
		sorted = append(sorted, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return sorted, nil
}

// isSibling says whether a module belongs to this repository.
func (t *tree) isSibling(modulePath string) bool {
	return modulePath == t.path || strings.HasPrefix(modulePath, t.path+"/")
}

// siblings are what a module requires of this repository.
func (t *tree) siblings(m *module) []*modfile.Require {
	var found []*modfile.Require
	for _, r := range m.file.Require {
		if t.isSibling(r.Mod.Path) {
			found = append(found, r)
		}
	}
	return found
}

// publishedAs returns the published module of a path, or nil.
func (t *tree) publishedAs(modulePath string) *module {
	if i := slices.IndexFunc(t.published, func(m *module) bool { return m.path() == modulePath }); i >= 0 {
		return t.published[i]
	}
	return nil
}

// version is the one that all published modules require of each other.
func (t *tree) version() (string, error) {
	version, who := "", ""
	for _, m := range t.published {
		for _, r := range t.siblings(m) {
			switch {
			case version == "":
				version, who = r.Mod.Version, m.named()
			case version != r.Mod.Version:
				return "", invalid("go.mod", m.named(), fmt.Sprintf("it requires %s, %s requires %s of its siblings: run set", r.Mod, who, version))
			}
		}
	}
	if semver.Canonical(version) != version || version == "" || semver.Prerelease(version) == ".invalid" {
		return "", invalid("version", version, "no module requires a sibling at a version: run set")
	}
	return version, nil
}

// findPrograms returns by modules' paths the import paths of the programs that others can
// install.
func (t *tree) findPrograms(ctx context.Context) (map[string][]string, error) {
	said, err := output(ctx, t.root, []string{"GOWORK=" + filepath.Join(t.root, "go.work"), "GOFLAGS="},
		"go", "list", "-find", "-f", `{{if eq .Name "main"}}{{.Module.Path}} {{.ImportPath}}{{end}}`, "work")
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for line := range strings.Lines(said) {
		module, program, _ := strings.Cut(strings.TrimSpace(line), " ")
		if module != "" && !slices.Contains(strings.Split(program, "/"), "internal") {
			found[module] = append(found[module], program)
		}
	}
	return found, nil
}

// copyTo makes a clone without files. A worktree is no repository to the go command, nor to
// x/mod.
func (t *tree) copyTo(ctx context.Context, dir string) error {
	_, err := output(ctx, t.root, nil, "git", "clone", "--quiet", "--shared", "--no-checkout", t.root, dir)
	return err
}

// output returns what a program prints, run in the directory with additions to the
// environment; its error has what it complained of.
func output(ctx context.Context, dir string, environ []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environ...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return string(out), nil
}

// settings are what the go command goes by in a directory, those of the names.
func settings(ctx context.Context, dir string, names ...string) (map[string]string, error) {
	text, err := output(ctx, dir, nil, "go", append([]string{"env", "-json"}, names...)...)
	if err != nil {
		return nil, err
	}
	var found map[string]string
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	return found, nil
}
