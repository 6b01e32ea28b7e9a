package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// digestsFile becomes a file of the digest of each program, as the chart's
// images.digests takes them. It is whole, or the file is as it was.
type digestsFile struct {
	path   string
	staged *os.File
}

// newDigestsFile makes sure that it can be written, before anything is built. None
// is asked for by an empty path.
func newDigestsFile(path string) (*digestsFile, error) {
	if path == "" {
		return &digestsFile{}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, invalid("digests", path, "it is no file")
	}
	staged, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, invalid("digests", path, err.Error())
	}
	return &digestsFile{path, staged}, nil
}

func (d *digestsFile) commit(digests map[string]string) error {
	if d.staged == nil {
		return nil
	}
	text, err := json.MarshalIndent(digests, "", "  ")
	if err != nil {
		return err
	}
	if _, err := d.staged.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := errors.Join(d.staged.Chmod(0o644), d.staged.Close()); err != nil {
		return err
	}
	if err := os.Rename(d.staged.Name(), d.path); err != nil {
		return err
	}
	d.staged = nil
	return nil
}

// abandon leaves nothing of what was not committed.
func (d *digestsFile) abandon() error {
	if d.staged == nil {
		return nil
	}
	d.staged.Close()
	return os.Remove(d.staged.Name())
}
