// Package check says whether a Spazio that package deploy installed works: what
// the cluster says of itself, what the scheduler hears of the nodes, when
// certificates end, whether clocks agree, what the operator of test beds does, and
// whether a pod is placed.
//
// It changes nothing, but for the pod of a [Probe] and its namespace, which go
// again. What can't be asked is unknown, and no failure.
//
// Types that do not speak of concurrent use are plain values.
package check
