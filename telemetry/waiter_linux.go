package telemetry

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
