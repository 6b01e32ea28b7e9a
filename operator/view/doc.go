// Package view shows test beds to people and programs: [Slots] says of a Testbed and the
// pods in its slots, as an API server has them, what is in each slot, by the same pure
// package testbed/slot that the controllers go by; a [Bed] keeps that up to date from one
// change to the next; a client reads the two. [SlotTable] is the table that people are
// shown.
package view
