// Package placement decides which waiting pods a scheduler tries again, in which order, and which
// pod may go to a node that has no room. A [Queue] is a state machine: it takes what happens to
// pods, nodes and profiles, and yields the pods to wake. It starts no goroutine, reads no clock and
// knows no Kubernetes types. Pods, nodes, workloads and classes are small integers of the caller's
// choice, since tables are as long as the largest; negative ones are ignored. Times are durations
// since any start, the same for all calls. No type is safe for concurrent use.
//
// # What a pod waits for
//
// A pod that was refused waits for the nodes of its [WaitSet]: those whose change can help it. Pods
// of one workload belong to one class: they ask the same of a node, so that a node has slots for
// all of them or for none. The class [Typical] is that of workloads of which nothing is known. A
// class's slots are counted again when a node changes; where they rise, pods of the class are woken
// by priority, highest first, then by their order, to which [Config].Delay may add for each workload
// what [Lives] expect of it: then the shortest go first. A pod that waits for [EveryNode] is not woken
// for slots that it has seen: the class's room has to have risen since its last attempt began.
//
// # Two ways to spend a rise
//
// Where [Config].Pause is 0 every woken pod comes and an attempt takes no time. A rise wakes as many
// pods at once as there are new slots, and a refusal passes the room on to the next pod.
//
// Where Pause is above 0 wakes may be lost and many nodes rise together. A node that rises is due,
// and [Queue.Round] grants the slots of the due nodes to the first pods that wait for them. A
// granted slot is kept for its pod for Config.Grant. A pod that does not come is woken again after
// Pause, then twice that and so on up to Config.Retry.
//
// # Overdue pods
//
// A pod that has waited for room for Config.MaxWait is overdue. Nodes without room take overdue
// pods, a few at a time: the places that [Rooms] counts.
//
// # Cost
//
// With g groups, which are the pairs of a workload and a wait set that pods wait for, a rise costs
// O(g) and O(log n) for each of the n pods that are woken. No periodic call passes over all pods.
package placement
