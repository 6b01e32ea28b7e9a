// Package classic is the one-time profiler of S. Galantino, "Kubernetes job
// profiling" (Politecnico di Torino, 2020, §4.5, 5.3), under its own names: a model
// a resource of six methods, which predicts P98 of CPU and the peak of memory of a
// job's weighted history, and 15 %. The weights are of samples and not of values;
// docs/profiles.md says why.
package classic
