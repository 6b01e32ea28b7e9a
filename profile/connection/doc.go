// Package connection is the graph of who talks to whom: workloads, the bytes a second
// that go between two of them each way, and the applications that they make up.
//
// It follows the ConnectionGraph of S. Galantino's thesis (Politecnico di Torino,
// 2020, §4.5.2, 5.4), under its names. What it mends: a rate is bytes a second of the
// time looked at, so that a connection that is not used any more fades; and the
// thesis's applications are the strongly connected components of calls, of which an
// acyclic call graph has none of more than one service, its own test application
// included. An application here is what carries the label app.kubernetes.io/part-of,
// else a component of the graph in which a call that matters to its caller is an edge
// there, by the request, and back, by the response.
//
// Time is an argument, inputs are never modified, and errors are a
// *field.Error; the state is then as it was.
//
// Types that do not speak of concurrent use are plain values.
package connection
