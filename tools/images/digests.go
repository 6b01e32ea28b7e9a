package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// writeDigests writes the digest of each program, as the chart's images.digests
// takes them. The file is whole or as it was.
func writeDigests(file string, digests map[string]string) (err error) {
	text, err := json.MarshalIndent(digests, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return invalid("digests", file, err.Error())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err = f.Write(append(text, '\n')); err != nil {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
