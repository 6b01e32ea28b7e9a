// Package operator is the map of the module that runs jobs in slots of a Kubernetes
// cluster; it holds no code.
//
//   - v1alpha1 has the objects: Testbed, BatchJob and Scheduling, and their definitions.
//   - workload makes of a BatchJob and the slots that it was given the Job, the
//     SparkApplication or the FlinkDeployment to create, and reads from that one's status
//     how it fares.
//   - room says what the scheduler measures that each node has room for.
//   - observe makes of these objects what module testbed decides on, and writes what it has
//     decided into their status.
//   - convert rewrites the manifests of L. Schwerdtfeger's thesis (see package testbed),
//     from which test beds come.
//   - controller carries out what the objects say; service is a process of its own for it,
//     in a module of its own.
//   - view shows what is in the slots.
//   - backend is what the interface for outside programs, module external, stands on here:
//     the objects from a cache, whose a token is, and what its owner may do.
//
// A researcher without Kubernetes makes a Testbed of, say, two slots on each node with
// a label, describes jobs once, and then says in Schedulings which job runs where, again
// and again. What decides is an outside program; package v1alpha1 is its language.
package operator
