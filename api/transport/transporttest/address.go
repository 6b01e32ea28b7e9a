package transporttest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// firstPort and ports are below those that systems give to outgoing connections, and
// to nodes' services.
const firstPort, ports = 11_000, 19_000

// Address returns an address of the loopback, 127.0.0.1, for a server that starts
// later, or again: until the test's end this function returns it to no other test, in
// this process or another. A port that listening at port 0 found may be given to any
// outgoing connection of the machine once it is closed, even to one that dials the
// server, which then speaks with itself.
func Address(t testing.TB) string {
	t.Helper()
	for range 1000 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(ports)))
		// The UDP port of the same number marks it as taken, and is in no server's way.
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
