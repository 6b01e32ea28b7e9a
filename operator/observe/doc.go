// Package observe is between what an API server keeps and the packages of module
// testbed, which know no Kubernetes: it makes of objects what a step decides on, and
// writes what a step has decided into their status. Nothing is read or written here, so
// that controllers in programs of their own come to the same of the same objects.
//
//	status  ⇄  lifecycle.Job, lifecycle.Scheduling, claim.Claim    Job, StoreJob, …
//	BatchJob, its child, pods, claim, Scheduling  →  lifecycle.JobObserved          JobView
//	Scheduling, its Testbed and jobs              →  lifecycle.SchedulingObserved   SchedulingView
//	the same                                      →  what it may be granted         Claimable
//
// Times in a status are whole seconds. Nothing that is given is modified, except the
// status that is written to; views are safe for concurrent reading.
package observe
