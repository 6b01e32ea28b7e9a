// Package simnodetest is for tests of schedulers: it brings simulated nodes and
// batches of pods to an API server for as long as a test lasts, and follows what
// becomes of the pods.
//
//	simnodetest.Join(t, simnode.Config{Client: client, Nodes: 20})
//	pods := simnodetest.Watch(t, client)
//	simnodetest.Submit(t, client, simnodetest.Batch{Prefix: "batch", Pods: 100, Scheduler: "mine", Work: time.Second})
//	pods.WaitSucceeded(t, 100)
//
// What fails, fails the test. Nothing expects anything to be fast: what does not come
// within [Patience] is given up. A Batch is a plain value, a Log may be asked by several
// goroutines.
package simnodetest
