// Package hub keeps the newest state of each object and sends subscribers what has changed.
//
// The Hub numbers the changes and remembers, of the latest ones, which object each was of. A
// subscription is a place in that sequence. It is sent each object that has changed behind the
// place, as the object is now: a slow reader gets the newest states, not all of them, and costs
// no more than there are objects. A reader whose place is no longer remembered is reset, and
// begins anew with a snapshot.
//
// A cursor is a place, with a random number that identifies the Hub: other processes receive the
// changes in an order of their own. A cursor of another Hub resets, too.
//
// The package knows no clock and starts nothing. A Hub is safe for concurrent use, a
// Subscription is one goroutine's at a time.
package hub
