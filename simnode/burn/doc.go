// Package burn runs pods for real: each is a child process of this one that
// burns CPU time on the machine at hand. [Run] is what the child does, [Machine]
// what starts, counts and ends the children.
//
// The children are niced, so that they leave the processor to a control plane
// beside them, and they don't outlive their parent: it kills them when it
// stops, the kernel kills them when it dies (on Linux), and a child ends by
// itself once its standard input is closed.
package burn
