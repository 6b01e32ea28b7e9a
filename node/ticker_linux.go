package node

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ticker ticks as a schedule determines, by a timer of the kernel's. Ahead of a timer of
// Go's the runtime wakes its monitor thread, which spins until the poller, whose
// clock counts in milliseconds, has woken, too: at 10 Hz that is half of what an
// idle agent takes. A descriptor wakes the poller alone.
type ticker struct {
	file    *os.File
	conn    syscall.RawConn
	started time.Time
	due     schedule
}

// newTicker returns a ticker that has started; the caller must stop it.
func newTicker(period time.Duration) (*ticker, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &ticker{started: time.Now(), due: schedule{Period: period}}
	if errno := arm(uintptr(fd), t.due.next(0)); errno != 0 {
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

// run calls tick at each tick until stop. It waits in one read that never ends, for to
// begin another costs a call that finds nothing. While tick takes its time one tick waits
// and others are lost. run is called once.
func (t *ticker) run(tick func()) {
	var expirations [8]byte
	// It returns when the file is closed.
	_ = t.conn.Read(func(fd uintptr) bool {
		if expired(fd, &expirations) {
			_ = arm(fd, t.due.next(time.Since(t.started))) // as it was the first time
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

// stop ends the ticks and returns when none is under way; tick itself must not call it.
func (t *ticker) stop() { _ = t.file.Close() }
