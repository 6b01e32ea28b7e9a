package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/spazio-scheduler/spazio/tools/internal/checkout"
)

// tree holds the modules of HEAD.
type tree struct {
	root      string
	revision  string    // HEAD's hash
	path      string    // the root module's, which begins that of all others
	published []*module // those that are tagged, by their directories
	others    []*module // those that never are
}

// module is one go.mod of the tree.
type module struct {
	dir, path string // the directory is slash-separated, "." for the root
	file      *modfile.File
	programs  []string // the import paths of what go install makes of it
	releases  []release
	version   string // HEAD's: the last release's if nothing has changed since
}

// release is a version of a module and the commit that has its tag.
type release struct{ version, revision string }

// last is the module's newest release, none for "".
func (m *module) last() (r release) {
	if len(m.releases) > 0 {
		r = m.releases[len(m.releases)-1]
	}
	return r
}

// next reports whether HEAD is to be tagged for the module.
func (m *module) next() bool { return m.version != m.last().version }

// tag is the name of the tag that publishes the module.
func (m *module) tag() string { return path.Join(m.dir, m.version) }

// open reads the modules of HEAD. The tree must have nothing else: what is verified has to
// be what users get, and tags name commits only.
func open(ctx context.Context, root string) (*tree, error) {
	t := &tree{root: root}
	changes, err := t.git(ctx, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, fmt.Errorf("%s: there are changes beyond HEAD: commit or undo them first\n%s", root, changes)
	}
	if t.revision, err = t.git(ctx, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	t.path = modfile.ModulePath(text)
	if err := t.readModules(ctx); err != nil {
		return nil, err
	}
	if err := t.readTags(ctx); err != nil {
		return nil, err
	}
	return t, t.choose(ctx)
}

// git returns what git prints.
func (t *tree) git(ctx context.Context, args ...string) (string, error) {
	said, err := checkout.Output(ctx, t.root, nil, "git", args...)
	return strings.TrimSpace(said), err
}

// readModules reads every go.mod, and the import paths of the programs that others can install.
func (t *tree) readModules(ctx context.Context) error {
	names, err := t.git(ctx, "ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return err
	}
	published, err := checkout.Output(ctx, t.root, nil, filepath.Join(t.root, ".ci", "run"), "-published")
	if err != nil {
		return err
	}
	programs, err := checkout.Output(ctx, t.root, []string{"GOWORK=" + filepath.Join(t.root, "go.work"), "GOFLAGS="},
		"go", "list", "-find", "-f", `{{if eq .Name "main"}}{{.Module.Path}} {{.ImportPath}}{{end}}`, "work")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(names) {
		text, err := os.ReadFile(filepath.Join(t.root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		m := &module{dir: path.Dir(name)}
		if m.file, err = modfile.Parse(name, text, nil); err != nil {
			return err
		}
		m.path = path.Join(t.path, m.dir)
		if !slices.Contains(strings.Fields(published), m.dir) {
			t.others = append(t.others, m)
			continue
		}
		for line := range strings.Lines(programs) {
			if of, program, _ := strings.Cut(strings.TrimSpace(line), " "); of == m.path && !slices.Contains(strings.Split(program, "/"), "internal") {
				m.programs = append(m.programs, program)
			}
		}
		t.published = append(t.published, m)
	}
	return nil
}

// readTags finds the releases among HEAD's tags.
func (t *tree) readTags(ctx context.Context) error {
	said, err := t.git(ctx, "for-each-ref", "--merged", "HEAD", "--format=%(refname:lstrip=2) %(objectname) %(*objectname)", "refs/tags")
	if err != nil {
		return err
	}
	for line := range strings.Lines(said) {
		fields := strings.Fields(line)
		dir, version := path.Split(fields[0])
		if m := t.module(path.Join(t.path, dir)); m != nil && semver.IsValid(version) {
			m.releases = append(m.releases, release{version, fields[len(fields)-1]}) // an annotated tag's commit comes last
		}
	}
	for _, m := range t.published {
		slices.SortFunc(m.releases, func(a, b release) int { return semver.Compare(a.version, b.version) })
	}
	return nil
}

// module returns the published module of a path, or nil.
func (t *tree) module(modulePath string) *module {
	if i := slices.IndexFunc(t.published, func(m *module) bool { return m.path == modulePath }); i >= 0 {
		return t.published[i]
	}
	return nil
}

// siblings are what a module requires of this repository.
func (t *tree) siblings(m *module) []*modfile.Require {
	return slices.DeleteFunc(slices.Clone(m.file.Require), func(r *modfile.Require) bool {
		return r.Mod.Path != t.path && !strings.HasPrefix(r.Mod.Path, t.path+"/")
	})
}

// choose gives each published module the version that HEAD has of it, as the package's comment says.
func (t *tree) choose(ctx context.Context) error {
	newest := ""                    // of all that is required
	required := map[string]string{} // by path
	for _, m := range t.published {
		for _, r := range t.siblings(m) {
			required[r.Mod.Path] = higher(required[r.Mod.Path], r.Mod.Version)
			newest = higher(newest, minor(r.Mod.Version))
		}
	}
	for _, m := range t.published {
		m.version = higher(m.last().version, required[m.path])
		if m.last().version == "" {
			m.version = higher(m.version, newest)
		}
		changed, err := t.changed(ctx, m)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		for _, r := range t.siblings(m) {
			m.version = higher(m.version, minor(r.Mod.Version))
		}
		if !m.next() {
			m.version = patched(m.version)
		}
		if !semver.IsValid(m.version) {
			return fmt.Errorf("%s: no module requires another at a version: run set", m.dir)
		}
	}
	return nil
}

func higher(a, b string) string {
	if semver.Compare(a, b) < 0 {
		return b
	}
	return a
}

// minor is the first version of a version's minor one.
func minor(version string) string { return semver.MajorMinor(version) + ".0" }

// patched is the version after another.
func patched(version string) string {
	var patch int
	fmt.Sscanf(strings.TrimPrefix(version, semver.MajorMinor(version)), ".%d", &patch)
	return fmt.Sprintf("%s.%d", semver.MajorMinor(version), patch+1)
}

// changed reports whether a module differs at HEAD from its last release for those who require it:
// files of other modules do not count, nor do tests, documents and hidden files.
func (t *tree) changed(ctx context.Context, m *module) (bool, error) {
	if m.last().revision == "" {
		return true, nil
	}
	args := []string{"diff", "--name-only", m.last().revision, "HEAD", "--", m.dir}
	for _, except := range []string{"*_test.go", "*testdata/*", "*.md", "docs/*", ".*", "*go.sum", "go.work*"} {
		args = append(args, ":(exclude)"+except)
	}
	for _, other := range slices.Concat(t.published, t.others) {
		if m.dir == "." && other != m || strings.HasPrefix(other.dir, m.dir+"/") {
			args = append(args, ":(exclude)"+other.dir)
		}
	}
	files, err := t.git(ctx, args...)
	return files != "", err
}

// set has every module require its siblings at one version: the published as
// their users will get them, the others as `go mod tidy` would. It may not be older than a
// release of one of them.
func set(_ context.Context, t *tree, o options) error {
	version := semver.Canonical(o.argument)
	if version == "" || semver.Build(o.argument) != "" || semver.Prerelease(version) != "" {
		return fmt.Errorf("VERSION = %s: want vMAJOR.MINOR or vMAJOR.MINOR.PATCH", o.argument)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return fmt.Errorf("VERSION = %s: from v2 on the modules' paths would have to name it", o.argument)
	}
	for _, m := range t.published {
		if last := m.last().version; semver.Compare(version, last) < 0 {
			return fmt.Errorf("VERSION = %s: it is older than %s, which is released", o.argument, path.Join(m.dir, last))
		}
	}
	var errs []error
	for _, m := range slices.Concat(t.published, t.others) {
		for _, r := range t.siblings(m) {
			errs = append(errs, m.file.AddRequire(r.Mod.Path, version))
		}
		name := filepath.Join(t.root, filepath.FromSlash(m.dir), "go.mod")
		if len(t.siblings(m)) > 0 {
			errs = append(errs, os.WriteFile(name, modfile.Format(m.file.Syntax), 0o666))
		}
	}
	fmt.Fprintf(o.stdout, "every module requires its siblings at %s now\n", version)
	return errors.Join(errs...)
}

// printTags prints the commands that publish HEAD: a tag for each module that is to be released, and
// one atomic push, so that a reader sees all of them or none. It makes none itself.
func printTags(_ context.Context, t *tree, o options) error {
	changes, err := os.ReadFile(filepath.Join(t.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	var names []string
	for _, m := range t.published {
		if !m.next() {
			continue
		}
		heading := "\n## [" + strings.TrimPrefix(m.version, "v") + "]"
		if m.version == minor(m.version) && !strings.Contains(string(changes), heading) {
			return fmt.Errorf("CHANGELOG.md: it has no heading of %s", m.version)
		}
		names = append(names, m.tag())
		fmt.Fprintf(o.stdout, "git tag -a -m 'Spazio %s' %s %s\n", m.version, m.tag(), t.revision)
	}
	if len(names) == 0 {
		return errors.New("no module has changed since its last release")
	}
	fmt.Fprintf(o.stdout, "git push --atomic origin %s\n", strings.Join(names, " "))
	return nil
}
