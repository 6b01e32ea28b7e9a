package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// kodata is where ko has a program look for its data: $KO_DATA_PATH.
const kodata = "var/run/ko"

// notice matches the names of files that a licence wants handed on.
var notice = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)s?([._-].*)?$`)

// dependency is what the toolchain tells of a package.
type dependency struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Version string }
	}
}

// notices are the licence of Spazio, Go's, and those of each module that is linked
// into the program, down to the packages that are.
func (s *source) notices(ctx context.Context, importPath string, platform v1.Platform) ([]file, error) {
	linked, err := s.linked(ctx, importPath, platform)
	if err != nil {
		return nil, err
	}
	goroot, err := output(ctx, s.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for name, file := range map[string]string{
		"LICENSE":             filepath.Join(s.root, "LICENSE"),
		"licenses/go/LICENSE": filepath.Join(strings.TrimSpace(goroot), "LICENSE"),
	} {
		if found[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	modules := map[string]bool{}
	for _, d := range linked {
		if d.Standard || d.Module == nil || d.Module.Main {
			continue
		}
		version := d.Module.Version
		if d.Module.Replace != nil {
			version = d.Module.Replace.Version
		}
		into := path.Join("licenses", d.Module.Path+"@"+version)
		modules[into] = true
		if err := collect(found, into, d.Dir, d.Module.Dir); err != nil {
			return nil, err
		}
	}
	return lay(found), complete(found, modules)
}

// linked are the packages that a program is made of.
func (s *source) linked(ctx context.Context, importPath string, platform v1.Platform) ([]dependency, error) {
	text, err := output(ctx, s.root, []string{"GOOS=" + platform.OS, "GOARCH=" + platform.Architecture},
		"go", "list", "-deps", "-json=Dir,Standard,Module", importPath)
	if err != nil {
		return nil, err
	}
	var all []dependency
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var d dependency
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, d)
	}
}

// collect reads the notices in the directories from dir up to root.
func collect(found map[string][]byte, into, dir, root string) error {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !notice.MatchString(e.Name()) || path.Ext(e.Name()) == ".go" {
				continue
			}
			name := path.Join(into, filepath.ToSlash(inside), e.Name())
			if found[name], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
		if dir == root || dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// complete fails for a module that nobody may hand on, since it has no licence.
func complete(found map[string][]byte, modules map[string]bool) error {
	for _, m := range slices.Sorted(maps.Keys(modules)) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(name string) bool { return strings.HasPrefix(name, m+"/") }) {
			return invalid("licence", strings.TrimPrefix(m, "licenses/"), "the module has none")
		}
	}
	return nil
}

// lay puts the files below kodata, each after the directories that it is in.
func lay(found map[string][]byte) []file {
	all := map[string]file{}
	for name, content := range found {
		name = path.Join(kodata, name)
		all[name] = file{name: name, mode: 0o444, content: content}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			all[dir+"/"] = file{name: dir + "/", mode: 0o755}
		}
	}
	var files []file
	for _, name := range slices.Sorted(maps.Keys(all)) {
		files = append(files, all[name])
	}
	return files
}
