package transporttest_test

import (
	"net"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// TestAddress: addresses that are free, and each is one's own as long as the test
// that asked for it lasts.
func TestAddress(t *testing.T) {
	const many = 200
	seen := map[string]bool{}
	for range many {
		addr := transporttest.Address(t)
		if seen[addr] {
			t.Fatalf("%s is given twice", addr)
		}
		seen[addr] = true
		for range 2 { // a server may come again
			listener, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			listener.Close()
		}
	}
}
