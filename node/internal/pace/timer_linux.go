package pace

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

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
