package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
)

// digestsFile becomes a file of the digest of each image, as the chart's images.digests
// takes them. It is whole, or the file is as it was.
type digestsFile struct {
	path   string
	staged *os.File
	kept   map[string]string // what was there and stays
}

// newDigestsFile makes sure that it can be written, before anything is built. None
// is asked for by an empty path. One that is added to may be there.
func newDigestsFile(path string, add bool) (*digestsFile, error) {
	if path == "" {
		return &digestsFile{}, nil
	}
	d := &digestsFile{path: path}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, invalid("digests", path, "it is no file")
	}
	if err == nil && add {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &d.kept)
		}
		if err != nil {
			return nil, invalid("digests", path, "to add to it: "+err.Error())
		}
	}
	if d.staged, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"); err != nil {
		return nil, invalid("digests", path, err.Error())
	}
	return d, nil
}

func (d *digestsFile) commit(digests map[string]string) error {
	if d.staged == nil {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, d.kept)
	maps.Copy(all, digests)
	text, err := json.MarshalIndent(all, "", "  ")
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
