// Package wire has the JSON of the interface /external/v1: objects, problems and the
// messages of its watch. Its types are plain data; decode requests with [Decode], which
// refuses what it does not know. Go programs take package client, which does the rest:
// this package is what they then read and write.
//
// A [Testbed] has slots, each room for one pod on a node. A [Job] is something to run in
// them, again and again. A [Scheduling] places jobs in slots of a Testbed: its
// [SchedulingSpec] is the one thing that a program decides; all else is observed.
//
// Objects name each other NAME, in their own namespace, or NAMESPACE/NAME; answers always
// say NAMESPACE/NAME. Times are RFC 3339 in UTC. A resourceVersion grows with each change of
// an object and is compared, not computed with: it is also the object's ETag.
//
// Types that do not speak of concurrent use are plain values.
package wire
