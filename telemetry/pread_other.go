//go:build !linux || 386 || arm || mips || mipsle

package telemetry

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// descriptor is a file of the kernel's.
type descriptor struct {
	f      *os.File
	isOpen bool
}

// open opens the file at path; the error is an *os.PathError.
func (d *descriptor) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	d.f, d.isOpen = f, true
	return nil
}

// openIn opens dir/group/name; the error is an *os.PathError.
func (d *descriptor) openIn(dir *directory, group, name string) error {
	return d.open(filepath.Join(dir.path, group, name))
}

func (d *descriptor) close() {
	if d.isOpen {
		_ = d.f.Close()
		d.isOpen = false
	}
}

// directory is one in which files are opened.
type directory struct{ path string }

func (*directory) close() {}

// read reads from the file's start and stops at its end or that of buf.
func (d *descriptor) read(buf []byte) (int, error) {
	n, err := d.f.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
