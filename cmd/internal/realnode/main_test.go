//go:build realnode && linux

package realnode

import (
	"fmt"
	"os"
	"testing"
)

// role is this process's part: the test binary starts itself twice more, as the first process of a PID
// namespace, which only reaps, and as the process with the tests, which also starts itself as the
// control plane.
const role = "SPAZIO_REALNODE_ROLE"

// workVariable names the directory for everything that the node writes.
const workVariable = "SPAZIO_REALNODE_WORK"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(outside())
	case "init":
		os.Exit(first())
	case "plane":
		os.Exit(plane())
	default:
		os.Exit(inside(m))
	}
}

// inside runs all tests on one node.
func inside(m *testing.M) int {
	n, err := startNode(os.Getenv(workVariable))
	if err != nil {
		complain("start the node", err)
		complain("stop it", n.stop())
		return 1
	}
	node = n
	code := m.Run()
	if err := n.stop(); err != nil {
		complain("stop the node", err)
		return 1
	}
	return code
}

// node is the node that the tests run on.
var node *realNode

func complain(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "realnode: %s: %v\n", what, err)
	}
}
