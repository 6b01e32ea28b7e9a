//go:build !linux || race

package transport

import "net"

// quiet returns conn: only Linux has another.
func quiet(conn net.Conn) net.Conn { return conn }
