package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// verify takes the modules of HEAD through a proxy of files, as the package's comment has
// it. It says what it does, for it takes minutes, and stops at what fails first.
func verify(ctx context.Context, o options) (err error) {
	r, err := openRelease(ctx, o.root)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	proxy := filepath.Join(scratch, "proxy")
	sums, err := r.proxy(ctx, proxy)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.stdout, "%d modules at %s of %.12s\n", len(r.published), r.version, r.revision)
	missing, err := r.checkSums(sums)
	if err != nil {
		return err
	}
	if missing > 0 {
		fmt.Fprintf(o.stdout, "go.sum lacks %d sums of siblings: before the tags, sums writes them\n", missing)
	}
	s, err := r.newSandbox(ctx, scratch, proxy)
	if err != nil {
		return err
	}
	if err := r.install(ctx, s, o); err != nil {
		return err
	}
	if err := r.compile(ctx, s, o); err != nil {
		return err
	}
	if err := s.checkSums(sums); err != nil {
		return err
	}
	fmt.Fprintln(o.stdout, "all that was compiled has the sums of go.sum")
	return r.compareAPIs(ctx, s, o)
}

// install installs each program by @latest. Each must know its version afterwards, and be
// made of siblings of the same.
func (r *release) install(ctx context.Context, s *sandbox, o options) error {
	for _, m := range r.published {
		if len(m.programs) == 0 {
			continue
		}
		args := []string{"install", "-ldflags=-s -w"}
		for _, program := range m.programs {
			args = append(args, program+"@latest")
		}
		if _, err := s.run(ctx, s.dir, args...); err != nil {
			return err
		}
		for _, program := range m.programs {
			if err := r.checkProgram(filepath.Join(s.dir, "bin", path.Base(program))); err != nil {
				return err
			}
			fmt.Fprintf(o.stdout, "installed %s@latest\n", strings.TrimPrefix(program, r.path+"/"))
		}
	}
	return nil
}

func (r *release) checkProgram(file string) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	for _, m := range append(info.Deps, &info.Main) {
		if r.isSibling(m.Path) && m.Version != r.version {
			return invalid("program", filepath.Base(file), fmt.Sprintf("it is made of %s %s, not %s", m.Path, m.Version, r.version))
		}
	}
	return nil
}

// compile compiles all packages of each library in a new module that requires it alone.
func (r *release) compile(ctx context.Context, s *sandbox, o options) error {
	for _, m := range r.published {
		if len(m.programs) > 0 {
			continue
		}
		dir := filepath.Join(s.dir, "consumers", filepath.FromSlash(m.named()))
		if err := s.consume(ctx, dir, m.path()); err != nil {
			return fmt.Errorf("%s in a module of its own: %w", m.named(), err)
		}
		if err := r.checkConsumer(m, dir); err != nil {
			return err
		}
		if _, err := s.run(ctx, dir, "build", m.path()+"/..."); err != nil {
			return fmt.Errorf("%s in a module of its own: %w", m.named(), err)
		}
		fmt.Fprintf(o.stdout, "compiled %s alone\n", m.named())
	}
	return nil
}

// consume makes a module that requires others for all their packages.
func (s *sandbox) consume(ctx context.Context, dir string, modules ...string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if _, err := s.run(ctx, dir, "mod", "init", "example.org/consumer"); err != nil {
		return err
	}
	args := []string{"get"}
	for _, m := range modules {
		args = append(args, m+"/...@latest")
	}
	_, err := s.run(ctx, dir, args...)
	return err
}

// checkConsumer: `go get` adds what a library forgot to require, from wherever the newest
// is. So nothing may have been added to what the library names.
func (r *release) checkConsumer(m *module, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	got, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	named := map[string]string{m.path(): r.version}
	for _, q := range m.file.Require {
		named[q.Mod.Path] = q.Mod.Version
	}
	for _, q := range got.Require {
		if named[q.Mod.Path] != q.Mod.Version {
			return invalid("go.mod", m.named(), fmt.Sprintf("who requires it gets %s, and it names %q", q.Mod, named[q.Mod.Path]))
		}
	}
	return nil
}
