// Package view shows test beds to people and programs: a [Bed] is a Testbed with the pods in its
// slots, as an API server has them, and what is in each slot, by the same pure package testbed/slot
// that the controllers go by; a client reads the two. [SlotTable] is the table that people are shown.
package view
