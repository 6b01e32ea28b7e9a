package telemetry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// inotify is one inotify instance for directories: it hears of entries made and
// removed.
type inotify struct {
	fd   int
	f    *os.File
	buf  []byte
	dirs map[int32]string // by watch
	wds  map[string]int32 // by directory
}

// A dirEvent is a directory made in or removed from a watched directory, or,
// when lost, word that events were lost.
type dirEvent struct {
	dir, name  string
	made, lost bool
}

func openInotify() (*inotify, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	return &inotify{
		fd:   fd,
		f:    os.NewFile(uintptr(fd), "inotify"),
		buf:  make([]byte, 64<<10),
		dirs: map[int32]string{},
		wds:  map[string]int32{},
	}, nil
}

func (in *inotify) close() { in.f.Close() }

// interrupt makes a read return at once, now or when it is called next. Like
// setDeadline it fails only on a closed file, where a read returns anyway.
func (in *inotify) interrupt() { _ = in.f.SetReadDeadline(time.Unix(1, 0)) }

func (in *inotify) setDeadline(t time.Time) error { return in.f.SetReadDeadline(t) }

// watch adds dir. Called again it moves the watch to the directory that has the
// name now.
func (in *inotify) watch(dir string) error {
	wd, err := unix.InotifyAddWatch(in.fd, dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_ONLYDIR)
	if err != nil {
		return os.NewSyscallError("inotify_add_watch", err)
	}
	if old, ok := in.wds[dir]; ok && old != int32(wd) {
		in.remove(old)
	}
	in.dirs[int32(wd)], in.wds[dir] = dir, int32(wd)
	return nil
}

// unwatch drops dir. It is needed for directories that are gone, too: the
// kernel keeps watches on removed cgroups.
func (in *inotify) unwatch(dir string) {
	if wd, ok := in.wds[dir]; ok {
		delete(in.wds, dir)
		in.remove(wd)
	}
}

func (in *inotify) remove(wd int32) {
	delete(in.dirs, wd)
	// It fails when the kernel dropped the watch first, which is as good.
	_, _ = unix.InotifyRmWatch(in.fd, uint32(wd))
}

// read waits for events up to the deadline; then it returns none.
func (in *inotify) read() ([]dirEvent, error) {
	n, err := in.f.Read(in.buf)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, nil
	case err != nil:
		return nil, reason(err)
	}
	return in.decode(in.buf[:n]), nil
}

// decode reads struct inotify_event records: wd, mask, cookie and len as 32-bit
// words, then len bytes of a name padded with zeros.
func (in *inotify) decode(buf []byte) []dirEvent {
	var events []dirEvent
	for len(buf) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(buf))
		mask := binary.NativeEndian.Uint32(buf[4:])
		size := int(binary.NativeEndian.Uint32(buf[12:]))
		buf = buf[unix.SizeofInotifyEvent:]
		if size > len(buf) {
			return append(events, dirEvent{lost: true})
		}
		name, _, _ := bytes.Cut(buf[:size], []byte{0})
		buf = buf[size:]
		dir, known := in.dirs[wd]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			events = append(events, dirEvent{lost: true})
		case mask&unix.IN_IGNORED != 0:
			delete(in.dirs, wd)
			if known && in.wds[dir] == wd {
				delete(in.wds, dir)
			}
		case known && mask&unix.IN_ISDIR != 0:
			events = append(events, dirEvent{dir: dir, name: string(name), made: mask&unix.IN_CREATE != 0})
		}
	}
	return events
}
