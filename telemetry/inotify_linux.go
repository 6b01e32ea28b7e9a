package telemetry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// inotifyBuffer holds some 1000 events; inotifyDrain buffers hold a full
	// queue at the kernel's default length of 16384.
	inotifyBuffer = 64 << 10
	inotifyDrain  = 16
	// maxKeptEvents is for how many the memory is kept from read to read.
	// maxInotifyEvent is the size of an event with the longest name. A read that
	// leaves more room than that has emptied the queue.
	maxKeptEvents   = 1024
	maxInotifyEvent = unix.SizeofInotifyEvent + unix.NAME_MAX + 1
)

// inotify is one inotify instance for directories: it reports entries made and
// removed.
type inotify struct {
	fd     int
	waiter *waiter
	buf    []byte
	events []dirEvent
	dirs   map[int32]string // by watch
	wds    map[string]int32 // by directory
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
	waiter, err := newWaiter(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &inotify{
		fd:     fd,
		waiter: waiter,
		buf:    make([]byte, inotifyBuffer),
		dirs:   map[int32]string{},
		wds:    map[string]int32{},
	}, nil
}

func (in *inotify) close() {
	in.waiter.close()
	_ = unix.Close(in.fd)
}

// interrupt makes read and pause return at once, now or when called next.
func (in *inotify) interrupt() { in.waiter.interrupt() }

// watch adds dir. Called again it moves the watch to the directory that has the
// name now, and reports whether that is another one.
func (in *inotify) watch(dir string) (moved bool, err error) {
	wd, err := rawWatch(in.fd, dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_ONLYDIR)
	if err != nil {
		return false, os.NewSyscallError("inotify_add_watch", err)
	}
	old, known := in.wds[dir]
	if known && old == int32(wd) {
		return false, nil
	}
	if known {
		in.remove(old)
	}
	in.dirs[int32(wd)], in.wds[dir] = dir, int32(wd)
	return true, nil
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

// read waits for events up to the deadline and returns all there are, or none.
// They are valid until the next read.
func (in *inotify) read(deadline time.Time) ([]dirEvent, error) {
	if err := in.waiter.wait(deadline, true); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, err
	}
	return in.readReady(), nil
}

// pause waits for d, whatever happens meanwhile.
func (in *inotify) pause(d time.Duration) error {
	err := in.waiter.wait(time.Now().Add(d), false)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// readReady is a read that does not wait.
func (in *inotify) readReady() []dirEvent {
	in.forget()
	in.drain()
	return in.events
}

func (in *inotify) forget() {
	if cap(in.events) > maxKeptEvents {
		in.events = nil // a storm's memory is not kept
	}
	in.events = in.events[:0]
}

func (in *inotify) drain() {
	for range inotifyDrain {
		// An empty queue is EAGAIN. It does not block, and the raw call does not wake
		// the runtime's monitor thread.
		read, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(in.fd), uintptr(unsafe.Pointer(&in.buf[0])), uintptr(len(in.buf)))
		if errno != 0 || read == 0 {
			return
		}
		n := int(read)
		in.decode(in.buf[:n])
		if n <= len(in.buf)-maxInotifyEvent {
			return
		}
	}
}

// decode reads struct inotify_event records: wd, mask, cookie and len as 32-bit
// words, then len bytes of a name padded with zeros.
func (in *inotify) decode(buf []byte) {
	for len(buf) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(buf))
		mask := binary.NativeEndian.Uint32(buf[4:])
		size := int(binary.NativeEndian.Uint32(buf[12:]))
		buf = buf[unix.SizeofInotifyEvent:]
		if size > len(buf) {
			in.events = append(in.events, dirEvent{lost: true})
			return
		}
		name, _, _ := bytes.Cut(buf[:size], []byte{0})
		buf = buf[size:]
		dir, known := in.dirs[wd]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			in.events = append(in.events, dirEvent{lost: true})
		case mask&unix.IN_IGNORED != 0:
			delete(in.dirs, wd)
			if known && in.wds[dir] == wd {
				delete(in.wds, dir)
			}
		case known && mask&unix.IN_ISDIR != 0:
			in.events = append(in.events, dirEvent{dir: dir, name: string(name), made: mask&unix.IN_CREATE != 0})
		}
	}
}
