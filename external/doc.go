// Package external is the interface by which a program of any language decides which jobs run
// in which slots of a test bed, and follows what becomes of them, after L. Schwerdtfeger's
// thesis (see package testbed; §4.1 and §4.3.5). This module does not depend on Kubernetes.
//
//	wire      the bodies of requests and answers, and the messages of the watch
//	server    /external/v1 over HTTP and WebSocket, on a Store of one's own
//	client    the same, seen from the outside program
//	profiler  an outside program: it learns which jobs to put together
//	ui        pages for people; tools/compat/external tries them in a browser
package external
