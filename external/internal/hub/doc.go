// Package hub keeps the newest state of each object and tells subscribers what has changed.
//
// All objects, those that are gone among them, are in one list in the order of their last
// change. A subscription is a place in that list: what is behind the place is still to be
// told, so that a slow reader gets each object's newest state, not each change, and costs no
// more than there are objects. What is gone stays in the list as a tombstone until there are
// too many; who has not been told by then is reset, and begins anew with a snapshot.
//
// A cursor is a place that another hub understands, which heard of the same changes at other
// times and so has another list: the newest version of each kind that was told. Versions of
// slots do not compare, for each hub joins them of several sources that arrive as they
// like; a cursor says by hash which Testbeds' slots were told, and what differs is told anew.
// Where changes of a kind may come out of order, as those of namespaces that are followed
// each by itself, the newest version says nothing to another hub, which takes no such cursor.
//
// The package knows no clock and starts nothing. A Hub is safe for concurrent use, a
// Subscription is one goroutine's at a time.
package hub
