package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	xmodule "golang.org/x/mod/module"
)

// writeSums writes what the siblings' zips will hash to into the go.sum of each module
// that replaces none of them, which is cmd: who builds it from a clone without the
// workspace needs them, and they hold the tags to what was verified. No zip holds the go.sum
// of another module, so that writing them changes none.
func writeSums(ctx context.Context, o options) error {
	r, err := openRelease(ctx, o.root)
	if err != nil {
		return err
	}
	want, err := r.sums(ctx)
	if err != nil {
		return err
	}
	for _, m := range r.published {
		if !r.needsSums(m) {
			continue
		}
		s, err := r.readSums(m)
		if err != nil {
			return err
		}
		maps.DeleteFunc(s, func(v xmodule.Version, _ string) bool { return r.isSibling(v.Path) })
		for _, v := range r.needed(m) {
			s[v] = want[v]
		}
		if err := os.WriteFile(r.sumFile(m), []byte(s.lines()), 0o666); err != nil {
			return err
		}
		fmt.Fprintf(o.stdout, "%s/go.sum has the sums of %d siblings at %s now\n", m.named(), len(r.siblings(m)), r.version)
	}
	return nil
}

// sums are those of the published modules, made aside.
func (r *release) sums(ctx context.Context) (_ sums, err error) {
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	return r.proxy(ctx, scratch)
}

// needsSums says whether the module's go.sum is to have its siblings': replaced ones have
// none.
func (r *release) needsSums(m *module) bool {
	return len(r.siblings(m)) > 0 && len(m.file.Replace) == 0
}

// needed are the versions of siblings, and of their go.mod, that the module's go.sum is to
// have.
func (r *release) needed(m *module) []xmodule.Version {
	var versions []xmodule.Version
	for _, s := range r.siblings(m) {
		versions = append(versions, s.Mod, xmodule.Version{Path: s.Mod.Path, Version: s.Mod.Version + "/go.mod"})
	}
	return versions
}

func (t *tree) sumFile(m *module) string {
	return filepath.Join(t.root, filepath.FromSlash(m.dir), "go.sum")
}

// readSums reads the module's go.sum; without one it has none.
func (t *tree) readSums(m *module) (sums, error) {
	text, err := os.ReadFile(t.sumFile(m))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return parseSums(string(text)), nil
}

// checkSums compares what go.sum files say of siblings with what the siblings are, and
// returns how many sums they don't have yet.
func (r *release) checkSums(are sums) (missing int, err error) {
	var errs []error
	for _, m := range r.published {
		if !r.needsSums(m) {
			continue
		}
		s, err := r.readSums(m)
		if err != nil {
			return 0, err
		}
		for _, v := range r.needed(m) {
			switch said, has := s[v]; {
			case !has:
				missing++
			case said != are[v]:
				errs = append(errs, invalid(m.named()+"/go.sum", v, fmt.Sprintf("it says %s and the module is %s: run sums", said, are[v])))
			}
		}
	}
	return missing, errors.Join(errs...)
}
