//go:build !linux || race

package transport

import "net"

// withRawIO returns conn unchanged: only Linux has another.
func withRawIO(conn net.Conn) net.Conn { return conn }
