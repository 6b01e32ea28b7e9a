package share

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// lockDir makes this process the only one that publishes below a directory, until it is
// closed.
func lockDir(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// inMemory reports whether a directory is on a file system without a disk.
func inMemory(dir string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	var about syscall.Statfs_t
	if err := syscall.Statfs(dir, &about); err != nil {
		return true // nothing is known of a disk
	}
	kind := uint32(about.Type) //nolint:gosec // a magic number of 32 bits
	return kind == tmpfs || kind == ramfs
}

// setModified sets a file's modification time, to the microsecond.
func setModified(f *os.File, at time.Time) error {
	t := syscall.NsecToTimeval(at.UnixNano())
	return os.NewSyscallError("futimes", syscall.Futimes(int(f.Fd()), []syscall.Timeval{t, t}))
}

// openDir opens a directory within a root. What is none, as a pipe that would be waited
// for, is an error.
func openDir(root *os.Root, dir string) (*os.File, error) {
	return root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

// createIn makes a file of an open directory that is not there yet. That, and the other
// functions of one name in a directory, a Root of Go 1.24 can't do.
func createIn(dir *os.File, name string) (*os.File, error) {
	return openAt(dir, name, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY)
}

// openIn opens a file of a directory to be read, and waits for none.
func openIn(dir *os.File, name string) (*os.File, error) {
	return openAt(dir, name, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW)
}

func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	for {
		fd, err := syscall.Openat(int(dir.Fd()), name, flags|syscall.O_CLOEXEC, 0o644)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("openat", err)
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

func removeIn(dir *os.File, name string) error {
	return os.NewSyscallError("unlinkat", syscall.Unlinkat(int(dir.Fd()), name))
}

func renameIn(dir *os.File, from, to string) error {
	fd := int(dir.Fd())
	return os.NewSyscallError("renameat", syscall.Renameat(fd, from, fd, to))
}

// isNoDir reports whether part of a path is no directory.
func isNoDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
