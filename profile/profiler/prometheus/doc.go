// Package prometheus reads from a Prometheus server what the pods of a workload took
// before a profiler heard of them, by the kubelet's metrics of containers
// ([History.Demand]), and who calls whom now, by Istio's of requests ([History.Flows]).
//
// It mends the queries of S. Galantino's thesis (§5.3.1): containers of a pod are
// summed, not averaged, and of several series of one container the largest counts;
// memory is the working set, without most of the page cache; the namespace is part of
// every query; and pods are those whose names the workload's controller makes, not all
// that begin alike. What is used is not what is wanted while cores are short, so that
// the confidence in it is one half at most.
//
// Types that do not speak of concurrent use are plain values.
package prometheus
