package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// tree is files by their path below the repository.
type tree map[string]string

// generated are the directories that hold nothing else.
var generated = []string{"deploy/rendered", "deploy/kustomize", "deploy/chart/files", dashboardDir, rulesDir}

// write makes the tree's files those of the generated directories.
func (t tree) write(root string) error {
	for _, dir := range generated {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	for path, text := range t {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// compare returns an error for each file that is not as in the tree.
func (t tree) compare(root string) (differences []error) {
	found := map[string]bool{}
	for _, dir := range generated {
		there, err := read(root, dir)
		if err != nil {
			return []error{err}
		}
		for path, text := range there {
			found[path] = true
			switch want, ok := t[path]; {
			case !ok:
				differences = append(differences, fmt.Errorf("%s is not generated", path))
			case text != want:
				differences = append(differences, fmt.Errorf("%s differs from what tools/deploy makes", path))
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(t)) {
		if !found[path] {
			differences = append(differences, fmt.Errorf("%s is missing", path))
		}
	}
	return differences
}

// read returns the files below a directory of the repository, none if it is not
// there.
func read(root, dir string) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		t[filepath.ToSlash(relative)] = string(text)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	return t, err
}
