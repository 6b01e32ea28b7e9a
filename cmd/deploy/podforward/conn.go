package podforward

import (
	"io"
	"net"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// unbounded has no deadlines: the end of a request closes the connection that it goes
// by.
type unbounded struct{}

// LocalAddr returns an empty address.
func (unbounded) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr returns an empty address.
func (unbounded) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline does nothing.
func (unbounded) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (unbounded) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (unbounded) SetWriteDeadline(time.Time) error { return nil }

// upgraded is a connection to the API server that speaks HTTP no more.
type upgraded struct {
	io.ReadWriteCloser
	unbounded
}

// streamConn is a stream of it.
type streamConn struct {
	httpstream.Stream
	unbounded
}
