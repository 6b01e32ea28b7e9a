package podforward

import (
	"net"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// streamConn is a stream as a connection without deadlines: its request's end
// closes the connection that it is part of.
type streamConn struct{ httpstream.Stream }

// LocalAddr is none.
func (streamConn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr is none.
func (streamConn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline does nothing.
func (streamConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (streamConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (streamConn) SetWriteDeadline(time.Time) error { return nil }
