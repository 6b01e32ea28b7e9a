package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	xmodule "golang.org/x/mod/module"
)

// sandbox runs the go command as somebody has it who has never built anything of ours:
// with an empty module cache, outside of the workspace and without settings. Its modules
// come from two trees of files, ours and what this machine has of others. Both are final:
// nothing of ours can come from elsewhere.
type sandbox struct {
	dir     string // modules and programs are below
	environ []string
	known   sums // of the modules of others
}

// newSandbox makes a sandbox below a directory for the modules in a proxy.
func (r *release) newSandbox(ctx context.Context, dir, proxy string) (*sandbox, error) {
	here, err := settings(ctx, r.root, "GOMODCACHE", "GOCACHE", "GOPATH")
	if err != nil {
		return nil, err
	}
	s := &sandbox{dir: dir, known: sums{}}
	for _, m := range r.published {
		of, err := r.readSums(m)
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(of, func(v xmodule.Version, _ string) bool { return r.isSibling(v.Path) })
		maps.Copy(s.known, of)
	}
	downloads := filepath.Join(here["GOMODCACHE"], "cache", "download")
	if err := s.fill(ctx, downloads); err != nil {
		return nil, err
	}
	s.environ = []string{
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOCACHE=" + here["GOCACHE"], "GOPATH=" + filepath.Join(dir, "path"),
		"GOMODCACHE=" + filepath.Join(dir, "mod"), "GOBIN=" + filepath.Join(dir, "bin"),
		"GOPROXY=" + fileURL(proxy) + "," + fileURL(downloads), "GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=", "GOVCS=*:off",
		// The module cache's place is no part of what -trimpath compiles, so that the
		// build cache knows it again, and the one that archives and images are made with.
		"GOFLAGS=-modcacherw -trimpath", "CGO_ENABLED=0",
		"GOOS=", "GOARCH=", "GOEXPERIMENT=", "GODEBUG=", "GOAMD64=", "GOARM64=", "GO111MODULE=", "GOROOT=",
	}
	return s, nil
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

// fill downloads into this machine's module cache what of go.sum it does not have.
func (s *sandbox) fill(ctx context.Context, downloads string) error {
	var zips, mods []string
	for v := range s.known {
		lacking, kind := &zips, "zip"
		if version, is := strings.CutSuffix(v.Version, "/go.mod"); is {
			v.Version, lacking, kind = version, &mods, "mod"
		}
		file, err := downloaded(downloads, v, kind)
		if err != nil {
			return err
		}
		switch _, err := os.Stat(file); {
		case errors.Is(err, fs.ErrNotExist):
			*lacking = append(*lacking, v.String())
		case err != nil:
			return err
		}
	}
	return errors.Join(s.download(ctx, zips, "mod", "download"), s.download(ctx, mods, "list", "-m"))
}

// download runs a command of the go command on modules, as this machine is set up.
func (s *sandbox) download(ctx context.Context, modules []string, command ...string) error {
	slices.Sort(modules)
	for some := range slices.Chunk(modules, 100) {
		if _, err := output(ctx, s.dir, []string{"GOWORK=off"}, "go", slices.Concat(command, some)...); err != nil {
			return err
		}
	}
	return nil
}

// downloaded is the file in a cache of downloads that has a module's zip or go.mod.
func downloaded(downloads string, v xmodule.Version, kind string) (string, error) {
	escaped, err := xmodule.EscapePath(v.Path)
	if err != nil {
		return "", err
	}
	version, err := xmodule.EscapeVersion(v.Version)
	if err != nil {
		return "", err
	}
	return filepath.Join(downloads, filepath.FromSlash(escaped), "@v", version+"."+kind), nil
}

// run runs the go command in a directory of the sandbox.
func (s *sandbox) run(ctx context.Context, dir string, args ...string) (string, error) {
	return output(ctx, dir, s.environ, "go", args...)
}

// checkSums fails if a module was taken that is not what go.sum, or the proxy, has.
func (s *sandbox) checkSums(ours sums) error {
	downloads := filepath.Join(s.dir, "mod", "cache", "download")
	var errs []error
	err := filepath.WalkDir(downloads, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".ziphash") {
			return err
		}
		v, err := versionOf(downloads, file)
		if err != nil {
			return err
		}
		sum, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		want, known := ours[v]
		if !known {
			want, known = s.known[v]
		}
		switch {
		case !known:
			errs = append(errs, invalid("go.sum", v, "no go.sum has the sum of this module, which is compiled"))
		case want != string(sum):
			errs = append(errs, invalid("go.sum", v, fmt.Sprintf("the module is %s and ought to be %s", sum, want)))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// versionOf is the module whose file it is in a cache of downloads.
func versionOf(downloads, file string) (xmodule.Version, error) {
	below, err := filepath.Rel(downloads, file)
	if err != nil {
		return xmodule.Version{}, err
	}
	escaped, name, _ := strings.Cut(filepath.ToSlash(below), "/@v/")
	modulePath, err := xmodule.UnescapePath(escaped)
	if err != nil {
		return xmodule.Version{}, err
	}
	version, err := xmodule.UnescapeVersion(strings.TrimSuffix(name, ".ziphash"))
	return xmodule.Version{Path: modulePath, Version: version}, err
}
