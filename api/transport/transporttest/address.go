package transporttest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// firstPort and ports are below those that systems use for outgoing connections and for nodes'
// services.
const firstPort, ports = 11_000, 19_000

// Address returns a loopback address, on 127.0.0.1, for a server that starts later, or again: until the
// test's end no other test, in this process or another, gets it. A port found by listening at port 0
// may be used by any outgoing connection of the machine after it is closed, even by one to the server
// itself, which then connects to itself.
func Address(t testing.TB) string {
	t.Helper()
	for range 1000 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(ports)))
		// The UDP port of the same number marks it as used, and conflicts with no server.
		taken, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		probe, err := net.Listen("tcp", addr)
		if err != nil {
			_ = taken.Close()
			continue
		}
		_ = probe.Close()
		t.Cleanup(func() { _ = taken.Close() })
		return addr
	}
	t.Fatal("no port of the loopback is free")
	return ""
}
