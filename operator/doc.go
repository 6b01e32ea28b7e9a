// Package operator is the map of the module that runs jobs in slots of a Kubernetes
// cluster; it holds no code.
//
//   - v1alpha1 has the objects: Testbed, BatchJob and Scheduling, and their definitions.
//   - workload makes of a BatchJob and the slots that it was given the Job, the
//     SparkApplication or the FlinkDeployment to create, and reads from that one's status
//     how it fares.
//   - convert rewrites the manifests of the thesis that test beds come from.
//
// A researcher without Kubernetes makes a Testbed of, say, two slots on each node with
// a label, describes jobs once, and then says in Schedulings which job runs where, again
// and again. What decides is an outside program; package v1alpha1 is its language.
package operator
