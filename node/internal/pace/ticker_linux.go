package pace

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ticker ticks as a schedule determines, by a timer of the kernel's. Ahead of a timer of
// Go's the runtime wakes its monitor thread, which spins until the poller, whose
// clock counts in milliseconds, has woken, too: at 10 Hz that is half of what an
// idle agent takes. A descriptor wakes the poller alone.
type Ticker struct {
	file    *os.File
	conn    syscall.RawConn
	started time.Time
	due     schedule
}

// NewTicker returns a ticker that has started; the caller must Stop it.
func NewTicker(period time.Duration) (*Ticker, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &Ticker{started: time.Now(), due: schedule{Period: period}}
	if errno := arm(uintptr(fd), t.due.Next(0)); errno != 0 {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("timerfd_settime", errno)
	}
	t.file = os.NewFile(uintptr(fd), "timer")
	if t.conn, err = t.file.SyscallConn(); err != nil {
		_ = t.file.Close()
		return nil, fmt.Errorf("timer: %w", err)
	}
	return t, nil
}

// Run calls tick at each tick until Stop. It waits in one read that never ends, for to
// begin another costs a call that finds nothing. While tick takes its time one tick waits
// and others are lost. Run is called once.
func (t *Ticker) Run(tick func()) {
	var expirations [8]byte
	// It returns when the file is closed.
	_ = t.conn.Read(func(fd uintptr) bool {
		if expired(fd, &expirations) {
			_ = arm(fd, t.due.Next(time.Since(t.started))) // as it was the first time
			tick()
		}
		return false // wait for the next
	})
}

// expired reads how often the timer has expired since it was read last. The raw
// call does not wake the monitor thread; it cannot block.
func expired(fd uintptr, count *[8]byte) bool {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(count)), uintptr(len(count)))
	return errno == 0 && n == uintptr(len(count)) && binary.NativeEndian.Uint64(count[:]) > 0
}

// arm has the timer expire after so long.
func arm(fd uintptr, after time.Duration) unix.Errno {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
	_, _, errno := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	return errno
}

// Stop ends the ticks and returns when none is under way; tick itself must not call it.
func (t *Ticker) Stop() { _ = t.file.Close() }

// Timer sends on C when its time has come, by a timer of the kernel's as Ticker's. One of
// Go's wakes its monitor thread and, as the poller's clock counts in milliseconds, the poller
// twice, also at a time that it was put off from.
type Timer struct {
	C     <-chan struct{}
	file  *os.File
	fd    uintptr
	ended chan struct{}
}

// NewTimer returns a timer that is not set; the caller must Close it.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	c := make(chan struct{}, 1)
	t := &Timer{C: c, file: os.NewFile(uintptr(fd), "timer"), fd: uintptr(fd), ended: make(chan struct{})}
	conn, err := t.file.SyscallConn()
	if err != nil {
		_ = t.file.Close()
		return nil, fmt.Errorf("timer: %w", err)
	}
	go func() {
		defer close(t.ended)
		var expirations [8]byte
		// It returns when the file is closed.
		_ = conn.Read(func(fd uintptr) bool {
			if expired(fd, &expirations) {
				select {
				case c <- struct{}{}:
				default: // the receiver has yet to take the one before
				}
			}
			return false
		})
	}()
	return t, nil
}

// Reset has the timer send after so long, and not when it was to before. What it has sent
// already stays in C.
func (t *Timer) Reset(after time.Duration) { _ = arm(t.fd, max(1, after)) } // 0 would stop it

// Close ends the timer and returns when nothing of it is left. Reset must not follow.
func (t *Timer) Close() {
	_ = t.file.Close()
	<-t.ended
}
