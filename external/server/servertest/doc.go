// Package servertest has what tests of the interface /external/v1 stand on: a Store in
// memory, identities with rights, a server on a port of the loopback, and the contract
// that every server of the interface keeps to, whatever its Store is.
//
// Types that do not speak of concurrent use are plain values.
package servertest
