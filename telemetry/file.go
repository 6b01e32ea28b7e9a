package telemetry

import (
	"errors"
	"fmt"
	"os"
)

// A file is one of the kernel's text files, kept open and read from its start
// each time: reopening would cost more than the read.
type file struct {
	path       string
	descriptor descriptor
	buf        []byte
}

// maxFile bounds what one file may hold; the largest, /proc/stat of a machine
// with thousands of CPUs and interrupts, stays below.
const maxFile = 4 << 20

func newFile(path string, size int) *file { return &file{path: path, buf: make([]byte, size)} }

// read returns the whole text, valid until the next read. After an error the
// file is opened anew the next time.
func (f *file) read() ([]byte, error) {
	if !f.descriptor.isOpen {
		if err := f.descriptor.open(f.path); err != nil {
			return nil, reason(err)
		}
	}
	for {
		n, err := f.descriptor.read(f.buf)
		switch {
		case err != nil:
			f.close()
			return nil, reason(err)
		case n < len(f.buf):
			return f.buf[:n], nil
		case len(f.buf) >= maxFile:
			return nil, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxFile)
		}
		f.buf = make([]byte, 2*len(f.buf))
	}
}

// readAs returns what a parser makes of the text; the error is a *ChannelError.
func readAs[T any](channel string, f *file, parse func([]byte) (T, error)) (T, error) {
	text, err := f.read()
	if err == nil {
		var value T
		if value, err = parse(text); err == nil {
			return value, nil
		}
	}
	var zero T
	return zero, &ChannelError{channel, f.path, err}
}

func (f *file) close() { f.descriptor.close() }

// reason strips the path from an error: ChannelError names it already.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
