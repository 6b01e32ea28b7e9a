// Package client speaks the interface /external/v1 from an outside program: it says which
// jobs run in which slots, and hears what becomes of them.
//
// What the server refuses is a *wire.Problem, which errors.As finds. What is safe to ask
// again is, when the server or the way to it fails for a moment: reading, and replacing at a
// version (of which 412 may then mean that the first attempt was carried out). Objects are named NAMESPACE and NAME as in the paths; where one names another,
// NAMESPACE/NAME.
//
// Types that do not speak of concurrent use are plain values.
package client
