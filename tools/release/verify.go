package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
		return nil
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
	dir := filepath.Join(s.dir, "consumers", filepath.FromSlash(m.dir))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := s.run(ctx, dir, "mod", "init", "example.org/consumer"); err != nil {
		return err
	}
	// The go command compares what it downloads, and everything that it compiles.
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), s.sums, 0o666); err != nil {
		return err
	}
	if err := s.run(ctx, dir, "get", m.path+"@"+m.version); err != nil {
		return err
	}
	return s.run(ctx, dir, "build", "-mod=mod", m.path+"/...")
}
