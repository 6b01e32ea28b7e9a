package main

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"

	"github.com/spazio-scheduler/spazio/tools/internal/checkout"
)

// sandbox runs the go command as on a machine that has never built these modules:
// with an empty module cache, outside of the workspace and without settings.
type sandbox struct {
	dir     string // modules and programs are below
	environ []string
	sums    []byte // of the modules of others, as go.sum has them
}

// verify takes the modules that are to be released through a proxy of files, as the package's comment
// has it. It prints what it does, for it takes minutes, and stops at what fails first.
func verify(ctx context.Context, t *tree, o options) error {
	return inScratch(func(dir string) error {
		s, err := t.newSandbox(ctx, dir)
		if err != nil {
			return err
		}
		for _, m := range t.published {
			if !m.next() {
				continue
			}
			if err := t.check(m); err != nil {
				return err
			}
			if err := s.install(ctx, m, o); err != nil {
				return err
			}
			if err := s.compile(ctx, m); err != nil {
				return fmt.Errorf("%s in a module of its own: %w", m.dir, err)
			}
			fmt.Fprintf(o.stdout, "compiled %s %s alone\n", m.path, m.version)
		}
		return t.compareAPIs(ctx, s, o)
	})
}

// check: replace and exclude count in the main module alone. A library's replace of a sibling is what
// it is developed with, any other hides what its users get.
func (t *tree) check(m *module) error {
	if len(m.file.Exclude) > 0 {
		return fmt.Errorf("%s/go.mod: exclude %s: no other module excludes it", m.dir, m.file.Exclude[0].Mod)
	}
	for _, r := range m.file.Replace {
		if r.Old.Path != t.path && !strings.HasPrefix(r.Old.Path, t.path+"/") {
			return fmt.Errorf("%s/go.mod: replace %s: who requires the module gets the original", m.dir, r.Old.Path)
		}
	}
	return nil
}

// newSandbox makes a sandbox below a directory. Its modules are ours, those that this machine has
// of others, and what it would download.
func (t *tree) newSandbox(ctx context.Context, dir string) (*sandbox, error) {
	proxy := filepath.Join(dir, "proxy")
	if err := t.proxy(ctx, proxy); err != nil {
		return nil, err
	}
	here, err := checkout.Environ(ctx, t.root, filepath.Join(t.root, "go.work"))
	if err != nil {
		return nil, err
	}
	s := &sandbox{dir: dir, environ: append(here, "GOWORK=off", "GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=", "GOVCS=*:off",
		"GOPATH="+filepath.Join(dir, "path"), "GOMODCACHE="+filepath.Join(dir, "mod"), "GOBIN="+filepath.Join(dir, "bin"),
		// The module cache's place is no part of what -trimpath compiles, so that the
		// build cache knows it again, and the one that archives and images are made with.
		"GOFLAGS=-modcacherw -trimpath")}
	from := []string{fileURL(proxy), "", ""}
	for _, setting := range here {
		if cache, is := strings.CutPrefix(setting, "GOMODCACHE="); is {
			from[1] = fileURL(filepath.Join(cache, "cache", "download"))
		}
		if further, is := strings.CutPrefix(setting, "GOPROXY="); is {
			from[2] = further
		}
	}
	s.environ = append(s.environ, "GOPROXY="+strings.Join(from, ","))
	for _, m := range t.published {
		sums, err := os.ReadFile(filepath.Join(t.root, filepath.FromSlash(m.dir), "go.sum"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		s.sums = append(s.sums, sums...)
	}
	return s, nil
}

// run runs the go command in a directory of the sandbox.
func (s *sandbox) run(ctx context.Context, dir string, args ...string) error {
	_, err := checkout.Output(ctx, dir, s.environ, "go", args...)
	return err
}

// install installs the programs of a module by its version.
func (s *sandbox) install(ctx context.Context, m *module, o options) error {
	args := []string{"install", "-ldflags=-s -w"}
	for _, program := range m.programs {
		args = append(args, program+"@"+m.version)
	}
	if len(m.programs) == 0 {
		return nil
	}
	if err := s.run(ctx, s.dir, args...); err != nil {
		return err
	}
	fmt.Fprintf(o.stdout, "installed %s\n", strings.Join(args[2:], " "))
	return nil
}

// compile compiles all packages of a module in a new one that requires it alone.
func (s *sandbox) compile(ctx context.Context, m *module) error {
	dir, err := s.consume(ctx, path.Join("alone", m.dir), m.path+"@"+m.version)
	if err != nil {
		return err
	}
	return s.run(ctx, dir, "build", "-mod=mod", m.path+"/...")
}

// consume makes a module that requires others, and returns its directory.
func (s *sandbox) consume(ctx context.Context, name string, modules ...string) (string, error) {
	dir := filepath.Join(s.dir, "consumers", filepath.FromSlash(name))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	if err := s.run(ctx, dir, "mod", "init", "example.org/consumer"); err != nil {
		return "", err
	}
	// The go command compares what it downloads, and everything that it compiles.
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), s.sums, 0o666); err != nil {
		return "", err
	}
	return dir, s.run(ctx, dir, append([]string{"get"}, modules...)...)
}

// compareAPIs compares what modules export with their last releases. An incompatible change wants the
// next minor version, and a line in CHANGELOG.md below Changed or Removed that names something of
// the module.
func (t *tree) compareAPIs(ctx context.Context, s *sandbox, o options) error {
	var modules []*module
	var then, now []string
	for _, m := range t.published {
		if m.next() && m.last().version != "" && len(m.programs) == 0 {
			modules = append(modules, m)
			then, now = append(then, m.path+"@"+m.last().version), append(now, m.path+"@"+m.version)
		}
	}
	if len(modules) == 0 {
		fmt.Fprintln(o.stdout, "no library was released before, and none breaks anything")
		return nil
	}
	before, err := s.load(ctx, "before", modules, then)
	if err != nil {
		return err
	}
	after, err := s.load(ctx, "after", modules, now)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range modules {
		announced, _ := section(t.changelog(), m.version)
		for _, change := range apidiff.ModuleChanges(before[m.path], after[m.path]).Changes {
			if change.Compatible {
				continue
			}
			fmt.Fprintf(o.stdout, "incompatible in %s: %s\n", m.dir, change.Message)
			// From v1 on another minor version is not enough: that would take other module paths.
			if semver.Major(m.version) != "v0" || semver.MajorMinor(m.version) == semver.MajorMinor(m.last().version) {
				errs = append(errs, fmt.Errorf("%s: %s: %s had it otherwise, and %s does not say so: set the next minor version", m.dir, change.Message, m.last().version, m.version))
			}
			if !announces(announced, m) {
				errs = append(errs, fmt.Errorf("%s: %s: CHANGELOG.md names nothing of %s below Changed or Removed", m.dir, change.Message, m.dir))
			}
		}
	}
	return errors.Join(errs...)
}

// load returns the packages that others can import of modules in some versions. Their types
// come from what the compiler has exported, which the build cache mostly has.
func (s *sandbox) load(ctx context.Context, name string, modules []*module, versions []string) (map[string]*apidiff.Module, error) {
	dir, err := s.consume(ctx, name, versions...)
	if err != nil {
		return nil, err
	}
	var patterns []string
	loaded := map[string]*apidiff.Module{}
	for _, m := range modules {
		patterns = append(patterns, m.path+"/...")
		loaded[m.path] = &apidiff.Module{Path: m.path}
	}
	found, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Env: append(os.Environ(), s.environ...), BuildFlags: []string{"-mod=mod"},
		Mode: packages.NeedName | packages.NeedModule | packages.NeedTypes,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		if p.Module != nil && loaded[p.Module.Path] != nil && p.Name != "main" && !slices.Contains(strings.Split(p.PkgPath, "/"), "internal") {
			loaded[p.Module.Path].Packages = append(loaded[p.Module.Path].Packages, p.Types)
		}
	}
	for _, m := range loaded {
		slices.SortFunc(m.Packages, func(a, b *types.Package) int { return strings.Compare(a.Path(), b.Path()) })
	}
	return loaded, nil
}

// changelog is the text of CHANGELOG.md.
func (t *tree) changelog() string {
	text, err := os.ReadFile(filepath.Join(t.root, "CHANGELOG.md"))
	if err != nil {
		return ""
	}
	return string(text)
}

// section returns what CHANGELOG.md has on a version: below its own heading, `## [1.2.3]`,
// or, while it has none, on what is not released yet.
func section(changelog, version string) (text string, has bool) {
	_, text, has = strings.Cut(changelog, "\n## ["+strings.TrimPrefix(version, "v")+"]")
	if !has {
		_, text, _ = strings.Cut(changelog, "\n## [Unreleased]")
	}
	text, _, _ = strings.Cut(text, "\n## [")
	return text, has
}

// announces reports whether a section names something of a module, such as `svd.Update` or
// `plugin/slots`, below the headings Changed or Removed; of the root module, anything.
func announces(text string, m *module) bool {
	named := "`"
	if m.dir != "." {
		named += regexp.QuoteMeta(m.dir) + "[./`]"
	}
	for _, part := range strings.Split(text, "\n### ") {
		if (strings.HasPrefix(part, "Changed") || strings.HasPrefix(part, "Removed")) && regexp.MustCompile(named).MatchString(part) {
			return true
		}
	}
	return false
}
