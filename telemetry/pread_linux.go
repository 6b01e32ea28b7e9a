//go:build linux && !(386 || arm || mips || mipsle)

package telemetry

import (
	"errors"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shortRead: the kernel hands its text files out by at least a page, less one
// line at most, so that a shorter read was the last.
const shortRead = 2 << 10

// descriptor is a file of the kernel's. Package os has each that it opens watched by
// its poller, where the file can be: five system calls more.
type descriptor struct {
	fd     int
	isOpen bool
}

// open opens the file at path; the error is an *os.PathError.
func (d *descriptor) open(path string) error {
	fd, err := rawOpen(path, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	d.fd, d.isOpen = fd, true
	return nil
}

// openIn opens dir/group/name; the error is an *os.PathError.
func (d *descriptor) openIn(dir *directory, group, name string) (err error) {
	var buffer pathBuffer
	file, err := buffer.join(group, name)
	fd := -1
	for again := dir.isOpen; err == nil; again = false {
		if err = dir.open(); err == nil {
			fd, err = rawOpenAt(dir.fd, file, 0)
		}
		if !errors.Is(err, unix.ENOENT) || !again {
			break
		}
		// Another may have its name by now.
		dir.close()
		err = nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: filepath.Join(dir.path, group, name), Err: err}
	}
	d.fd, d.isOpen = fd, true
	return nil
}

func (d *descriptor) close() {
	if d.isOpen {
		rawClose(d.fd)
		d.isOpen = false
	}
}

// directory stays open: the kernel looks up each element of a path, and what is opened from here
// has the fewer.
type directory struct {
	path   string
	fd     int
	isOpen bool
}

func (d *directory) open() (err error) {
	if !d.isOpen {
		d.fd, err = rawOpen(d.path, unix.O_PATH|unix.O_DIRECTORY)
		d.isOpen = err == nil
	}
	return err
}

func (d *directory) close() {
	if d.isOpen {
		rawClose(d.fd)
		d.isOpen = false
	}
}

// read reads from the file's start and stops at its end or that of buf. Go's scheduler,
// if it knew of the call, would also hand the processor over as the call takes more than 20 µs.
func (d *descriptor) read(buf []byte) (n int, err error) {
	for n < len(buf) {
		got, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(d.fd), uintptr(unsafe.Pointer(&buf[n])), uintptr(len(buf)-n), uintptr(n), 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return n, errno
		}
		n += int(got)
		if got == 0 || n < shortRead {
			return n, nil
		}
	}
	return n, nil
}
