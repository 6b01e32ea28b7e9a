package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/mod/modfile"
	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// check returns everything in the modules' go.mod files by which what works here would
// fail for who requires them by version.
func (t *tree) check() error {
	var errs []error
	for _, dir := range t.forgotten {
		errs = append(errs, invalid("module", dir, "it is neither in go.work nor among the unpublished of .ci/run: it would be forgotten"))
	}
	for _, m := range t.published {
		if want := path.Join(t.path, m.dir); m.path() != want {
			errs = append(errs, invalid("go.mod", m.named(), fmt.Sprintf("module %s, a tag below this directory is %s's", m.path(), want)))
		}
		for _, r := range t.siblings(m) {
			if t.publishedAs(r.Mod.Path) == nil {
				errs = append(errs, invalid("go.mod", m.named(), "it requires "+r.Mod.Path+", which is not published"))
			}
		}
		errs = append(errs, t.checkReplaced(m)...)
	}
	_, err := t.version()
	return errors.Join(append(errs, err)...)
}

// checkReplaced: replace and exclude count in the main module alone. A library's replace of
// a sibling is what it is developed with, any other hides what its users get; go install
// refuses both in the module of the program.
func (t *tree) checkReplaced(m *module) []error {
	var errs []error
	for _, e := range m.file.Exclude {
		errs = append(errs, invalid("go.mod", m.named(), "exclude "+e.Mod.String()+": nobody else excludes it"))
	}
	for _, r := range m.file.Replace {
		switch {
		case len(m.programs) > 0:
			errs = append(errs, invalid("go.mod", m.named(), "replace "+r.Old.Path+": go install refuses a program whose module has any"))
		case !t.isSibling(r.Old.Path):
			errs = append(errs, invalid("go.mod", m.named(), "replace "+r.Old.Path+": who requires the module gets the original"))
		case !t.replacesByItself(m, r):
			errs = append(errs, invalid("go.mod", m.named(), "replace "+r.Old.Path+" => "+r.New.Path+": that is not its directory"))
		}
	}
	return errs
}

// replacesByItself says whether a module replaces a sibling by its directory here.
func (t *tree) replacesByItself(m *module, r *modfile.Replace) bool {
	return r.New.Version == "" && r.Old.Version == "" && path.Join(t.path, m.dir, r.New.Path) == r.Old.Path
}

// release is a tree that can be released: its version, the modules' sums, and which
// release was before.
type release struct {
	*tree
	version string
	before  *tagged // nil for the first
}

// tagged is a version and the commit that has its tags.
type tagged struct{ version, revision string }

// openRelease reads HEAD and refuses what can't be released.
func openRelease(ctx context.Context, root string) (*release, error) {
	t, err := open(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	r := &release{tree: t}
	if r.version, err = t.version(); err != nil {
		return nil, err
	}
	return r, r.findBefore(ctx)
}

// modulesVersion is the module as who requires it writes it.
func (r *release) modulesVersion(m *module) xmodule.Version {
	return xmodule.Version{Path: m.path(), Version: r.version}
}

// tag is the name of the tag that publishes the module.
func (r *release) tag(m *module) string { return path.Join(m.dir, r.version) }

// findBefore looks the last release up among HEAD's tags. HEAD's own version must not be
// that of another commit.
func (r *release) findBefore(ctx context.Context) error {
	said, err := output(ctx, r.root, nil, "git", "for-each-ref", "--merged", r.revision,
		"--format=%(refname:lstrip=2) %(objectname) %(*objectname)", "refs/tags")
	if err != nil {
		return err
	}
	for line := range strings.Lines(said) {
		fields := strings.Fields(line)
		name, revision := fields[0], fields[len(fields)-1] // an annotated tag's commit comes last
		dir, version := path.Split(name)
		if !semver.IsValid(version) || r.publishedAs(path.Join(r.path, dir)) == nil {
			continue
		}
		switch order := semver.Compare(version, r.version); {
		case order == 0 && revision != r.revision:
			return invalid("tag", name, "HEAD requires "+version+", which is another commit's: set the next version")
		case order > 0:
			return invalid("tag", name, "it is later than "+r.version+", which HEAD requires: set a later one")
		case order < 0 && (r.before == nil || semver.Compare(version, r.before.version) > 0):
			r.before = &tagged{version, revision}
		}
	}
	return nil
}
