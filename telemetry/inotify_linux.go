package telemetry

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
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

// waiter waits for a descriptor, for a moment, or for both, through an epoll
// instance that holds the descriptor and a timer of the kernel's. What happens to
// the descriptor while it is not waited for wakes nothing, and no timer of Go's
// wakes the runtime's monitor thread: on a node that starts pods all the time these
// two were most of what watching them took.
type waiter struct {
	fd, timer int
	epoll     *os.File
	conn      syscall.RawConn
	armed     bool // the descriptor is waited for
}

func newWaiter(fd int) (*waiter, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	w := &waiter{fd: fd, timer: timer}
	if err := w.open(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *waiter) open() error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	err = unix.SetNonblock(epoll, true) // Go's poller takes no other
	w.epoll = os.NewFile(uintptr(epoll), "epoll")
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if w.conn, err = w.epoll.SyscallConn(); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	for fd, events := range map[int]uint32{w.timer: unix.EPOLLIN, w.fd: 0} {
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
	}
	return nil
}

func (w *waiter) close() {
	_ = unix.Close(w.timer)
	if w.epoll != nil {
		_ = w.epoll.Close()
	}
}

// interrupt makes a wait return at once, now or when it is called next. It fails
// only on a closed waiter, where a wait returns anyway.
func (w *waiter) interrupt() { _ = w.epoll.SetReadDeadline(time.Unix(1, 0)) }

// wait returns once the moment has come or, where ready is set, the descriptor can
// be read. After interrupt it is os.ErrDeadlineExceeded.
func (w *waiter) wait(until time.Time, ready bool) error {
	var failed error
	waiting := false
	err := w.conn.Read(func(epoll uintptr) bool {
		if !waiting {
			waiting = true
			if failed = w.arm(int(epoll), until, ready); failed != nil {
				return true
			}
		}
		var woken bool
		woken, failed = w.woken(epoll)
		return woken || failed != nil
	})
	if failed != nil {
		return failed
	}
	return err
}

func (w *waiter) arm(epoll int, until time.Time, ready bool) error {
	// Zero would stop the timer.
	after := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(1, time.Until(until))))}
	if err := unix.TimerfdSettime(w.timer, 0, &after, nil); err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	if w.armed == ready {
		return nil
	}
	event := unix.EpollEvent{Fd: int32(w.fd)}
	if ready {
		event.Events = unix.EPOLLIN | unix.EPOLLONESHOT
	}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_MOD, w.fd, &event); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	w.armed = ready
	return nil
}

// woken reports whether there is anything, without waiting. The raw call does not wake
// the runtime's monitor thread.
func (w *waiter) woken(epoll uintptr) (bool, error) {
	var events [2]unix.EpollEvent
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, epoll, uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return false, os.NewSyscallError("epoll_pwait", errno)
		}
		for _, e := range events[:n] {
			if e.Fd == int32(w.fd) {
				w.armed = false
			}
		}
		return n > 0, nil
	}
}

const inotifySupported = true

// Run watches the tree until ctx ends. It returns an error only if the system
// gives it no inotify instance; when it runs out of watches it reads the whole
// tree once a second instead.
func (p *CgroupPods) Run(ctx context.Context, notify func(PodEvent)) error {
	in, err := openInotify()
	if err != nil {
		return fmt.Errorf("telemetry: watching cgroups: %w", err)
	}
	defer in.close()
	defer context.AfterFunc(ctx, in.interrupt)()

	t := newTree(p.config, in, p.setHealth)
	t.rescan(time.Now())
	t.schedule()
	t.churn = churn{} // what is there at the start is not a change
	t.report(notify)
	for {
		events, err := in.read(t.wake())
		for ; err == nil && ctx.Err() == nil; events = in.readReady() {
			if !t.update(time.Now(), events, notify) {
				break
			}
			err = in.pause(p.config.Gather)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("telemetry: watching cgroups: %w", err)
		}
	}
}
