// Package check reports whether a Spazio that package deploy installed works: whether its
// workloads run, which nodes report to the scheduler, when certificates end, whether clocks agree,
// what the operator of test beds does, and whether a pod is placed.
//
// It changes nothing except the pod of a [Probe] and its namespace, which it deletes again. What
// can't be asked is unknown, and no failure.
//
// Types that do not speak of concurrent use are plain values.
package check
