// Package classic is the profiler of S. Galantino, "Kubernetes job profiling"
// (Politecnico di Torino, 2020, §4.5, 4.6, 5.3), under its own names. The one-time
// profiler is a model a resource of six methods, which predicts P98 of CPU and the peak
// of memory of a job's weighted history, and 15 %; the weights are of samples and not
// of values. The continuous profiler corrects its predictions. docs/profiles.md says
// what is wrong with either, and what is done instead.
//
// Types that do not speak of concurrent use are plain values.
package classic
