package transporttest_test

import (
	"net"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// TestAddress: each address is free, and reserved until its test ends.
func TestAddress(t *testing.T) {
	const many = 200
	seen := map[string]bool{}
	for range many {
		addr := transporttest.Address(t)
		if seen[addr] {
			t.Fatalf("got %s twice", addr)
		}
		seen[addr] = true
		for range 2 { // a server may listen again
			listener, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			listener.Close()
		}
	}
}
