// Package burn makes this machine a node: its pods are child processes of this one
// that burn CPU time for real. [Machine] starts, counts and ends the children; it
// is a [simnode.Machine] for [simnode.Config].
//
// It is a package beside simnode because it forks: whoever wants simulated nodes
// alone gets nothing of it, and it needs Unix, and Linux' /proc for the machine's
// size.
//
// # In a program of one's own
//
// The children are the embedding program itself, started again, so that there is
// nothing to install. [Init] tells the child from the parent and must be the
// first call in main, or in TestMain:
//
//	func TestMain(m *testing.M) {
//		burn.Init() // does not return in a child
//		os.Exit(m.Run())
//	}
//
// [NewMachine] refuses to work without it, for such a child would be the whole
// program once more.
//
// The children are niced, so that they leave the processor to a control plane
// beside them, and they don't outlive their parent: it kills them when it
// stops, the kernel kills them when it dies (on Linux), and a child ends by
// itself once its standard input is closed.
//
// Types that do not speak of concurrent use are plain values.
package burn
