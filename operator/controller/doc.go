// Package controller carries out what Testbeds, BatchJobs and Schedulings say. Each of
// the three controllers observes, asks the pure packages of module testbed what is to be
// done, does it, and writes the status; so what is lost between two of its writes is
// done again. They meet through the API alone and may run in one process or in three:
//
//	testbed     nodes, pods, Schedulings → ghosts, Testbed.status with the claims on slots
//	batchjob    claims, applications, pods → applications, BatchJob.status, claims that end
//	scheduling  jobs → which Scheduling has which job, Scheduling.status
//
// Claims are the record of who has which slots: they are written to Testbed.status, in a
// write that fails if another has come first, before anything is created for them.
//
// A Scheduling that may have jobs which nothing is known against is promised them, which
// stands in its status: slots are claimed for them before it has them, and each is its own
// with the write that submits it. What is left of a promise, as it is edited or another has
// had a job, is a claim of a job that nobody has, or another: the job's controller ends it.
//
// A program makes a manager with the [Scheme] and the [Cache], and calls [Add]:
//
//	scheme, err := controller.Scheme()
//	mgr, err := manager.New(config, manager.Options{Scheme: scheme, Cache: controller.Cache(nil)})
//	err = controller.Add(mgr, controller.Options{})
//	err = mgr.Start(ctx)
//
// Package operator/service does that and what belongs around it. One of several such
// processes leads, by the manager's lease; two that lead at once do no harm. [Foresee]
// says what a Scheduling would lead to.
//
// Types that do not speak of concurrent use are plain values.
package controller
