// Package servertest has what tests of the interface /external/v1 stand on: a Store in
// memory, identities with rights, a server on a port of the loopback, and the contract
// that every server of the interface keeps to, whatever its Store is.
//
//	bench := servertest.Start(t, nil)        // a program's tests talk to bench.URL, as servertest.Admin
//	servertest.Contract(t, bench.Fill())     // or a Target of one's own server
//
// Types that do not speak of concurrent use are plain values.
package servertest
