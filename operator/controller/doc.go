// Package controller carries out Testbeds, BatchJobs and Schedulings. Each of the three
// controllers observes, has the pure packages of module testbed decide what is to be done, does it,
// and writes the status, so that what is lost between two of its writes is done again. They meet
// through the API alone and may run in one process or in three:
//
//	testbed     nodes, pods, Schedulings → placeholder pods, Testbed.status with the claims on slots
//	batchjob    claims, applications, pods → applications, BatchJob.status, claims that end
//	scheduling  jobs → which Scheduling has which job, Scheduling.status
//
// What the API server keeps is read into the types of module testbed, and what a step has decided
// is written into a status, by pure functions: a job's by jobFacts, a Scheduling's by
// schedulingView. Times in a status are whole seconds.
//
// # Claims and jobs
//
// Two things are wanted by several at once, and each is stored in one object, which is written
// only as it was read (resourceVersion): the slots' claims in Testbed.status, before anything is
// created in the slots, and a job's Scheduling in BatchJob.status. So two controllers that decide
// at once, one of them by a stale cache, never both succeed. What a controller remembers saves
// requests and decides nothing. What gives something away (the end of a claim, the release of a
// job, a run that is lost) is decided by what the API server answers, not by the cache.
//
// # Reservations
//
// A Scheduling whose jobs are all available and accepted reserves them, in its own status
// (condition Acquired, reason Claiming). Slots are claimed for reserved jobs before the Scheduling
// has them, and each job becomes its own with the write that submits it, which saves a write of
// every job. What is left of a reservation, after an edit or because another Scheduling has had a
// job, is a claim for a job that does not have that Scheduling: the job's controller ends it.
//
// A program makes a manager with the [Scheme] and the [Cache], and calls [Add]:
//
//	scheme, err := controller.Scheme()
//	mgr, err := manager.New(config, manager.Options{Scheme: scheme, Cache: controller.Cache(nil)})
//	err = controller.Add(mgr, controller.Options{})
//	err = mgr.Start(ctx)
//
// Package cmd/testbed/service does that and what belongs around it. One of several such processes
// leads, by the manager's lease; two that lead at once do no harm. [Foresee] returns what a
// Scheduling would lead to.
//
// Types that do not speak of concurrent use are plain values.
package controller
