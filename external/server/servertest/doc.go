// Package servertest has what tests of the interface /external/v1 stand on: a Store in
// memory, identities with rights, and a server on a port of the loopback.
//
//	bench := servertest.Start(t, nil)        // a program's tests talk to bench.URL, as servertest.Admin
//
// Types that do not speak of concurrent use are plain values.
package servertest
