package modelserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// SaveSnapshot writes a snapshot to a file so that a crash at any moment leaves
// the file as it was or complete: a new file beside it is written, synced and
// renamed, and the directory synced. It returns the file's size. One process
// saves to a path at a time.
func SaveSnapshot(path string, s Snapshot) (size int64, err error) {
	// The name is fixed, so that what a crash leaves behind is overwritten.
	next := path + ".next"
	defer func() {
		if err != nil {
			err = fmt.Errorf("modelserver: save snapshot: %w", errors.Join(err, remove(next)))
		}
	}()
	if size, err = write(next, s); err != nil {
		return 0, err
	}
	if err = os.Rename(next, path); err != nil {
		return 0, err
	}
	return size, syncDirectory(filepath.Dir(path))
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func write(path string, s Snapshot) (size int64, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := WriteSnapshot(file, s); err != nil {
		return 0, err
	}
	if err := file.Sync(); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func syncDirectory(path string) (err error) {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, directory.Close()) }()
	return directory.Sync()
}

// LoadSnapshot reads a file that SaveSnapshot wrote. The error is a
// *SnapshotError where the content is not good, an *os.PathError where it can't
// be read.
func LoadSnapshot(path string) (Snapshot, error) {
	file, err := os.Open(path)
	if err != nil {
		return Snapshot{}, err
	}
	defer file.Close()
	return ReadSnapshot(file)
}
