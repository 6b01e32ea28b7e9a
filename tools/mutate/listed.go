package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// listName is the file of equivalent mutants, beside a package's tests.
const listName = "testdata/mutants.txt"

// An entry is one line of it.
type entry struct {
	path string // of the list, for messages
	line int
	key  string // see key
	used bool
	why  string
}

// key identifies a mutant across changes of the lines around it.
func key(dir, file, function, mutation string) string {
	return strings.Join([]string{dir, file, function, mutation}, "\t")
}

func (m *mutant) key() string {
	dir, file := filepath.Split(m.file.path)
	return key(filepath.Clean(dir), file, m.fn.name, m.mutation)
}

// readList reads the list of the package in dir; there may be none.
func readList(dir string) ([]*entry, error) {
	path := filepath.Join(dir, listName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []*entry
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || strings.TrimSpace(fields[3]) == "" {
			return nil, fmt.Errorf("%s:%d: want file, function, mutation and reason, separated by tabs", path, number)
		}
		entries = append(entries, &entry{
			path: path, line: number, key: key(filepath.Clean(dir), fields[0], fields[1], fields[2]), why: fields[3],
		})
	}
	return entries, nil
}
