// Package testbed has what the packages below it share: [Name] and the errors.
//
// A testbed is a set of slots on nodes, each of which holds the resources of one
// pod. A scheduling lists which job runs in which slots; a program that knows
// nothing of a cluster makes it. The approach is that of
// L. Schwerdtfeger's thesis, "Implementation of a Simplistic Interface for Big Data
// Workload Schedulers in Kubernetes" (TU Berlin), §4. What is decided is here; a controller
// only observes, calls these packages and carries out what they return:
//
//	slot       a slot's identity and order, what is in it, what is to be created and deleted, how many there are, whose a node is
//	queue      which of a scheduling's jobs start now, in which free slots
//	claim      which scheduling gets what: jobs, and slots, without deadlock or starvation
//	lifecycle  the states of a job and of a scheduling
//	colocate   how long jobs take beside each other, and which to put together
//
// Errors of all of them are this package's [field.Error]. slot, queue and claim meet in
// slots' identities; lifecycle and colocate stand by themselves. Module operator is a
// controller for Kubernetes that is made of them.
//
// All the packages are pure: they know no Kubernetes, no clock and no randomness, and use
// the standard library alone. Inputs are never modified.
//
// Types that do not speak of concurrent use are plain values.
package testbed
