// Package slots is the kube-scheduler plugin SpazioSlots, which puts the pods of BatchJobs into
// the slots of testbeds (package testbed/slot). Its own profile, spazio-slots, places two kinds
// of pods, distinguished by their label:
//
//	placeholder  holds a slot's resources while no pod is in it; its node affinity places it
//	slot   a BatchJob's pod, for one of the slots that the job's creationRequest names
//
// A slot pod passes through these extension points:
//
//	PreFilter  find its BatchJob's request; name the nodes of the first slots that are not taken
//	Filter     refuse the nodes where it does not fit in the place of a slot's placeholder
//	PostFilter if none of the first nodes would do, have it tried on all of them
//	Score      of the slots, the first
//	Reserve    take the slot; Unreserve gives it back
//	Bind       delete the slot's placeholder, and no other pod, then bind with the slot's name
//
// The plugin checks the fit by itself. Its profile disables NodeResourcesFit, which would count a
// placeholder in addition to the pod that takes its place. A slot that holds both, while its swap is
// under way, counts as the larger of the two, whichever of them will be there in the end. Without
// placeholders the fit is NodeResourcesFit's.
//
// The pods in the API show which pod is in which slot. A scheduler that was killed between the
// deletion of a placeholder and the bind therefore goes on where it was: the pod gets its slot. So does
// a pod whose bind failed. In between, no pod holds the slot's resources (the metric
// spazio_testbed_swap_seconds measures for how long), and a pod that takes them is not evicted.
//
// The plugin follows BatchJobs with an informer of its own, because the scheduler does not start
// without the kinds that it follows itself. When a job's request changes, its waiting pods are
// activated.
//
// Types that do not mention concurrent use are plain values.
package slots
