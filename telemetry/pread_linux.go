//go:build linux && !(386 || arm || mips || mipsle)

package telemetry

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shortRead: the kernel hands its text files out by at least a page, less one
// line at most, so that a shorter read was the last.
const shortRead = 2 << 10

// readAll reads a file of the kernel's, whose descriptor is fd, from its start and
// stops at the end of the
// file or of buf. It does not tell Go's scheduler, which would wake its monitor
// thread at the first system call after a pause, and hand the processor over as
// the call takes more than 20 µs: at 10 Hz that cost more than the reads. They
// are of memory, and end.
func readAll(f *os.File, fd uintptr, buf []byte) (n int, err error) {
	defer runtime.KeepAlive(f)
	for n < len(buf) {
		got, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, fd, uintptr(unsafe.Pointer(&buf[n])), uintptr(len(buf)-n), uintptr(n), 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return n, errno
		}
		n += int(got)
		if got == 0 || n < shortRead {
			return n, nil
		}
	}
	return n, nil
}
