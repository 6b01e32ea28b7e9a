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

	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/spazio-scheduler/spazio/tools/internal/checkout"
)

func writeProxy(ctx context.Context, t *tree, o options) error {
	if err := newDirectory(o.argument); err != nil {
		return err
	}
	for _, m := range t.published {
		fmt.Fprintln(o.stdout, m.path, m.version)
	}
	return t.proxy(ctx, o.argument)
}

// proxy writes the published modules below a directory as a GOPROXY serves them: their releases, and
// what HEAD has of those that are to be released.
func (t *tree) proxy(ctx context.Context, dir string) error {
	return inScratch(func(scratch string) error {
		clone := filepath.Join(scratch, "clone") // a worktree is no repository to x/mod
		if _, err := t.git(ctx, "clone", "--quiet", "--shared", "--no-checkout", t.root, clone); err != nil {
			return err
		}
		for _, m := range t.published {
			for _, r := range m.versions(t.revision) {
				if err := m.publish(ctx, r, clone, dir); err != nil {
					return fmt.Errorf("%s %s: %w", m.path, r.version, err)
				}
			}
		}
		return nil
	})
}

// versions are the module's releases, and HEAD's if that is to be one.
func (m *module) versions(head string) []release {
	if !m.next() {
		return m.releases
	}
	return append(slices.Clone(m.releases), release{m.version, head})
}

// publish adds a version to a module's list, and writes its .info, .mod and .zip: what a clone has of
// the commit, not what lies in the directory.
func (m *module) publish(ctx context.Context, r release, clone, dir string) (err error) {
	escaped, err := xmodule.EscapePath(m.path)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	list, err := os.ReadFile(filepath.Join(dir, "list"))
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return err
	}
	mod, err := checkout.Output(ctx, clone, nil, "git", "show", r.revision+":"+path.Join(m.dir, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"list": string(list) + r.version + "\n", r.version + ".info": `{"Version":"` + r.version + `"}`, r.version + ".mod": mod,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(dir, r.version+".zip"))
	if err != nil {
		return err
	}
	err = zip.CreateFromVCS(file, xmodule.Version{Path: m.path, Version: r.version}, clone, r.revision, strings.TrimPrefix(m.dir, "."))
	return errors.Join(err, file.Close())
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }
