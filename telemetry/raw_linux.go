package telemetry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These calls do not notify Go's scheduler, which would wake its monitor thread at the first
// system call after a pause: that costs more than to open a file, and a node's agent pauses
// ten times a second. They are about proc and cgroups, which are in memory, and end.

// pathBuffer holds the path of a call, which is put on no heap for it.
type pathBuffer [256]byte

// pointer returns path as the kernel wants it: ended by a zero, of which it has none.
func (b *pathBuffer) pointer(path string) (*byte, error) {
	if len(path) >= len(b) || strings.IndexByte(path, 0) >= 0 {
		return unix.BytePtrFromString(path)
	}
	copy(b[:], path)
	return &b[0], nil
}

// join returns dir/name, or name where dir is empty, as pointer does.
func (b *pathBuffer) join(dir, name string) (*byte, error) {
	switch {
	case dir == "":
		return b.pointer(name)
	case len(dir)+1+len(name) >= len(b) || strings.IndexByte(dir, 0) >= 0 || strings.IndexByte(name, 0) >= 0:
		return b.pointer(dir + "/" + name)
	}
	n := copy(b[:], dir)
	b[n] = '/'
	copy(b[n+1:], name)
	return &b[0], nil
}

// rawOpen opens the file at path for reading.
func rawOpen(path string, flags int) (fd int, err error) {
	var buffer pathBuffer
	name, err := buffer.pointer(path)
	if err != nil {
		return -1, err
	}
	return rawOpenAt(unix.AT_FDCWD, name, flags)
}

// rawOpenAt opens a file by its path from an open directory.
func rawOpenAt(dir int, name *byte, flags int) (fd int, err error) {
	for {
		fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE|flags), 0, 0, 0)
		switch errno {
		case 0:
			return int(fd), nil
		case unix.EINTR:
			continue
		}
		return -1, errno
	}
}

func rawClose(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// rawRead reads on from where the last call ended.
func rawRead(fd int, buf []byte) (n int, err error) { return rawFill(unix.SYS_READ, fd, buf) }

// rawEntries reads the next entries of a directory.
func rawEntries(fd int, buf []byte) (n int, err error) { return rawFill(unix.SYS_GETDENTS64, fd, buf) }

func rawFill(call uintptr, fd int, buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	for {
		n, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
			continue
		}
		return 0, errno
	}
}

// rawStat returns the mode and the links of what is at path. Kernels before 4.11, and some
// sandboxes, have no statx.
func rawStat(path string) (mode uint32, links uint64, err error) {
	var buffer pathBuffer
	name, err := buffer.pointer(path)
	if err != nil {
		return 0, 0, err
	}
	here, s := unix.AT_FDCWD, unix.Statx_t{}
	for {
		_, _, errno := unix.RawSyscall6(unix.SYS_STATX, uintptr(here), uintptr(unsafe.Pointer(name)), 0, unix.STATX_TYPE|unix.STATX_NLINK, uintptr(unsafe.Pointer(&s)), 0)
		switch errno {
		case 0:
			return uint32(s.Mode), uint64(s.Nlink), nil
		case unix.EINTR:
			continue
		case unix.ENOSYS, unix.EPERM:
			var s unix.Stat_t
			_, err := retry(func() (int, error) { return 0, unix.Stat(path, &s) })
			return s.Mode, uint64(s.Nlink), err //nolint:unconvert // 32 bits on other architectures
		}
		return 0, 0, errno
	}
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, _, err := rawStat(path)
	return err == nil
}

// rawWatch adds a watch to an inotify instance.
func rawWatch(fd int, path string, mask uint32) (wd int, err error) {
	var buffer pathBuffer
	name, err := buffer.pointer(path)
	if err != nil {
		return -1, err
	}
	for {
		wd, _, errno := unix.RawSyscall(unix.SYS_INOTIFY_ADD_WATCH, uintptr(fd), uintptr(unsafe.Pointer(name)), uintptr(mask))
		switch errno {
		case 0:
			return int(wd), nil
		case unix.EINTR:
			continue
		}
		return -1, errno
	}
}

// readInto reads the file at path into buf, which grows as needed. The text is
// valid until the next call.
func readInto(buf *[]byte, path string) ([]byte, error) {
	fd, err := rawOpen(path, 0)
	if err != nil {
		return nil, err
	}
	defer rawClose(fd)
	for n := 0; ; {
		m, err := rawRead(fd, (*buf)[n:])
		if err != nil {
			return nil, err
		}
		if n += m; m == 0 {
			return (*buf)[:n], nil
		}
		if n == len(*buf) {
			*buf = append(*buf, make([]byte, n)...)
		}
	}
}

// retry calls again what a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// isDirectory reports whether path is one, and whether it may have others below it.
func isDirectory(path string) (ok, parent bool) {
	mode, links, err := rawStat(path)
	// The links of a cgroup, as of most directories, are its name, its own dot and
	// one for each directory below. File systems that do not count say 1.
	return err == nil && mode&unix.S_IFMT == unix.S_IFDIR, links != 2
}

// subdirectories lists the directories in dir; none if it is gone. A cgroup
// holds dozens of files: it is listed only if it has directories at all.
func subdirectories(dir string) []string {
	if ok, parent := isDirectory(dir); !ok || !parent {
		return nil
	}
	names, _ := directoriesIn(dir)
	return names
}

// directoriesIn lists the directories in dir, sorted. Package os would make an object of each of
// a cgroup's dozens of files.
func directoriesIn(dir string) (names []string, err error) {
	fd, err := rawOpen(dir, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer rawClose(fd)
	var buf [4 << 10]byte
	for {
		n, err := rawEntries(fd, buf[:])
		if err != nil || n == 0 {
			slices.Sort(names)
			return names, err
		}
		const length, kind, text = unsafe.Offsetof(unix.Dirent{}.Reclen), unsafe.Offsetof(unix.Dirent{}.Type), unsafe.Offsetof(unix.Dirent{}.Name)
		for entries := buf[:n]; len(entries) > 0; {
			size := binary.NativeEndian.Uint16(entries[length:])
			name, _, _ := bytes.Cut(entries[text:size], []byte{0})
			if entries[kind] == unix.DT_DIR && name[0] != '.' {
				names = append(names, string(name))
			}
			entries = entries[size:]
		}
	}
}
