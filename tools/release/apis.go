package main

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"
)

// compareAPIs compares what the libraries export with what they did in the release before,
// or in a given commit. An incompatible change wants a version that says so, and a line in
// CHANGELOG.md below Changed or Removed that names something of the module.
func (r *release) compareAPIs(ctx context.Context, now *sandbox, o options) error {
	from := r.before
	if o.base != "" {
		from = &tagged{revision: o.base}
	}
	if from == nil {
		fmt.Fprintln(o.stdout, "no release is before this one, which therefore breaks nothing; -base COMMIT compares")
		return nil
	}
	base, err := r.openBase(ctx, from)
	if err != nil {
		return err
	}
	changed, err := r.changedSince(ctx, base)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.stdout, "%d libraries have changed since %s of %.12s\n", len(changed), base.version, base.revision)
	if len(changed) == 0 {
		return nil
	}
	then, err := base.sandboxBeside(ctx, now)
	if err != nil {
		return err
	}
	before, err := then.load(ctx, changed)
	if err != nil {
		return fmt.Errorf("%s: %w", base.version, err)
	}
	after, err := now.load(ctx, changed)
	if err != nil {
		return err
	}
	return r.judge(base, changed, before, after, o)
}

// openBase reads the commit to compare with: of its modules those that are published now.
func (r *release) openBase(ctx context.Context, from *tagged) (*release, error) {
	t, err := readCommit(ctx, r.root, from.revision)
	if err != nil {
		return nil, err
	}
	for _, m := range t.others {
		if now := r.publishedAs(m.path()); now != nil && now.dir == m.dir {
			t.published = append(t.published, m)
		}
	}
	base := &release{tree: t, version: from.version}
	if base.version == "" {
		base.version, err = t.version()
	}
	return base, err
}

// changedSince returns the paths of the libraries that both have and that are not the same.
func (r *release) changedSince(ctx context.Context, base *release) ([]string, error) {
	var changed []string
	for _, m := range r.published {
		if base.publishedAs(m.path()) == nil || len(m.programs) > 0 {
			continue
		}
		names, err := output(ctx, r.root, nil, "git", "diff", "--name-only", base.revision, r.revision, "--", m.named())
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(strings.Split(names, "\n"), func(name string) bool {
			return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && r.owner(name) == m
		}) {
			changed = append(changed, m.path())
		}
	}
	return changed, nil
}

// owner is the published module that a file belongs to.
func (t *tree) owner(file string) *module {
	var found *module
	for _, m := range t.published {
		if (m.dir == "" || strings.HasPrefix(file, m.dir+"/")) && (found == nil || len(m.dir) > len(found.dir)) {
			found = m
		}
	}
	return found
}

// sandboxBeside makes a sandbox for the base's modules beside that for HEAD's.
func (r *release) sandboxBeside(ctx context.Context, now *sandbox) (*sandbox, error) {
	dir := filepath.Join(now.dir, "base")
	proxy := filepath.Join(dir, "proxy")
	if _, err := r.proxy(ctx, proxy); err != nil {
		return nil, err
	}
	return r.newSandbox(ctx, dir, proxy)
}

// load returns the packages that others can import of each of the modules. Their types
// come from what the compiler has exported, which the build cache mostly has.
func (s *sandbox) load(ctx context.Context, modules []string) (map[string]*apidiff.Module, error) {
	dir := filepath.Join(s.dir, "consumers", "all")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := s.consume(ctx, dir, modules...); err != nil {
		return nil, err
	}
	var patterns []string
	loaded := map[string]*apidiff.Module{}
	for _, m := range modules {
		patterns = append(patterns, m+"/...")
		loaded[m] = &apidiff.Module{Path: m}
	}
	found, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Env: append(os.Environ(), s.environ...),
		Mode: packages.NeedName | packages.NeedModule | packages.NeedTypes,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range found {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
		if p.Module == nil || loaded[p.Module.Path] == nil || p.Name == "main" || slices.Contains(strings.Split(p.PkgPath, "/"), "internal") {
			continue
		}
		m := loaded[p.Module.Path]
		m.Packages = append(m.Packages, p.Types)
	}
	for _, m := range loaded {
		slices.SortFunc(m.Packages, func(a, b *types.Package) int { return strings.Compare(a.Path(), b.Path()) })
	}
	return loaded, errors.Join(errs...)
}

// judge fails for incompatible changes that neither the version nor CHANGELOG.md admits.
func (r *release) judge(base *release, modules []string, before, after map[string]*apidiff.Module, o options) error {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	lines, _ := section(string(changelog), r.version)
	announced := r.announces(lines)
	var errs []error
	for _, path := range modules {
		m := r.publishedAs(path)
		for _, change := range apidiff.ModuleChanges(before[path], after[path]).Changes {
			if change.Compatible {
				continue
			}
			fmt.Fprintf(o.stdout, "incompatible in %s: %s\n", m.named(), change.Message)
			if !breaks(base.version, r.version) {
				errs = append(errs, invalid("API of "+m.named(), change.Message, base.version+" had it otherwise, and "+r.version+" does not say so: set the next minor version"))
			}
			if !announced[m.dir] {
				errs = append(errs, invalid("API of "+m.named(), change.Message, "CHANGELOG.md names nothing of "+m.named()+" below Changed or Removed"))
			}
		}
	}
	return errors.Join(errs...)
}

// breaks says whether going from one version to another may break users: before v1 with
// the minor version, from then on never, for that would take other module paths.
func breaks(from, to string) bool {
	if semver.Major(from) == "v0" {
		return semver.MajorMinor(from) != semver.MajorMinor(to)
	}
	return false
}
