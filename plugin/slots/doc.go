// Package slots is the kube-scheduler plugin SpazioSlots, which puts the pods of
// BatchJobs into the slots of testbeds (package testbed/slot). It has a profile of its
// own, spazio-slots, in which two kinds of pods are placed, by their label:
//
//	ghost  holds a slot's resources while no pod is in it; its node affinity places it
//	slot   a BatchJob's pod, for one of the slots that the job's creationRequest names
//
// What a slot pod passes through:
//
//	PreFilter  find its BatchJob's request; name the nodes of the first slots that are not taken
//	Filter     refuse the nodes where it does not fit in the place of a slot's ghost
//	PostFilter if none of the first nodes would do, have it tried on all of them
//	Score      of the slots, the first
//	Reserve    take the slot; Unreserve gives it back
//	Bind       delete the slot's ghost, and no other pod, then bind with the slot's name
//
// The plugin has the fit to itself: in its profile NodeResourcesFit is disabled, as it
// counts a ghost beside the pod that takes its place. A slot with both in it, its swap
// under way, counts as the larger of the two, whichever of them will be there in the
// end. Without ghosts the fit is NodeResourcesFit's.
//
// Who is in which slot is known from the pods of the API, so that a scheduler which was
// killed between the deletion of a ghost and the bind goes on where it was: the pod gets
// its slot. So does one whose bind failed. In between nobody holds the slot's resources
// (the metric spazio_testbed_swap_seconds is how long), and what takes them is not
// thrown out.
//
// BatchJobs are followed by an informer of the plugin's own, since the scheduler does
// not start without the kinds that it follows itself. When a job's request changes its
// waiting pods are activated.
//
// Types that do not speak of concurrent use are plain values.
package slots
