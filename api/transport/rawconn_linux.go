//go:build !race

package transport

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// rawConn reads and writes past Go's scheduler. That would wake its monitor thread at the
// first system call after a pause, which takes another processor out of its sleep: an agent
// pauses ten times a second, and for a report that costs as much as to encode it. A socket
// that is not ready waits in the poller as ever, so the calls end.
//
// Under the race detector connections are left as they are: it learns from package syscall
// that what one end did before it wrote comes before what the other does when it has read.
type rawConn struct {
	net.Conn
	in, out transfer
}

// withRawIO returns conn, as a rawConn if it is a socket.
func withRawIO(conn net.Conn) net.Conn {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return conn
	}
	c := &rawConn{Conn: conn}
	c.in.init(syscall.SYS_READ, raw.Read)
	c.out.init(syscall.SYS_WRITE, raw.Write)
	return c
}

// Read implements net.Conn.
func (c *rawConn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return c.Conn.Read(b)
	}
	n, err := c.in.move("read", c.Conn, b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (c *rawConn) Write(b []byte) (written int, err error) {
	for written < len(b) {
		n, err := c.out.move("write", c.Conn, b[written:])
		if err != nil {
			return written, err
		}
		written += n
	}
	return written, nil
}

// transfer is one direction. It keeps the function that it hands to the poller, which made
// for each call would be garbage.
type transfer struct {
	call uintptr
	wait func(func(fd uintptr) bool) error
	try  func(fd uintptr) bool

	mu    sync.Mutex
	buf   []byte
	n     int
	errno syscall.Errno
}

func (t *transfer) init(call uintptr, wait func(func(uintptr) bool) error) {
	t.call, t.wait, t.try = call, wait, t.once
}

// move reads or writes some of b, once the socket is ready.
func (t *transfer) move(op string, conn net.Conn, b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = b
	err := t.wait(t.try)
	t.buf = nil
	if err == nil && t.errno != 0 {
		err = &net.OpError{
			Op: op, Net: conn.LocalAddr().Network(), Source: conn.LocalAddr(), Addr: conn.RemoteAddr(),
			Err: os.NewSyscallError(op, t.errno),
		}
	}
	if err != nil {
		return 0, err
	}
	return t.n, nil
}

// once reports whether the socket was ready.
func (t *transfer) once(fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(t.call, fd, uintptr(unsafe.Pointer(&t.buf[0])), uintptr(len(t.buf)))
		switch errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		}
		t.n, t.errno = int(n), errno
		return true
	}
}
