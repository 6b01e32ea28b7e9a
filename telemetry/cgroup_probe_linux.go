package telemetry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
