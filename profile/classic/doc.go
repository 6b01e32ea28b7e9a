// Package classic is the profiler of S. Galantino, "Kubernetes job profiling"
// (Politecnico di Torino, 2020, §4.5, 4.6, 5.3), under its own names. The one-time
// profiler is a model a resource of six methods, which predicts P98 of CPU and the peak
// of memory of a job's weighted history, and 15 %; the weights are of samples and not
// of values. The continuous profiler corrects its predictions.
//
// The original has these faults, which package profile and its siblings mend:
//
//   - It decays the values of samples, so peaks shrink. Here weights decay.
//   - Its overhead is absolute, reported as per cent. Here it is Σ(prediction − mean of
//     the window)/Σ mean.
//   - Its memory includes the page cache. Here it does not.
//   - Its job name keeps the ReplicaSet's hash, so each rollout is a new job. Here the
//     owner counts.
//   - A night slot sets the demand of a service that lives through the day. Here the
//     largest slot counts.
//   - Usage counts as demand, and 98th percentiles are added up. Here waiting counts, and
//     means and deviations are added.
//   - Traffic is bytes a minute as bytes a second, of both proxies. Here it is a rate, by
//     the caller's proxy.
//   - Page faults count as memory failures. Here kills and memory pressure of at least 1 %
//     count.
//   - The band around the application's mean raises no service where all suffer, and lowers
//     healthy ones.
//   - Calls have no cycle, so applications are single services. Here a label or calls make
//     an application.
//   - It looks at one job per iteration. Here all are looked at every 10 minutes.
//   - It writes cores with a comma as millicores. Here exports use a point; both forms are
//     read.
//
// Types that do not speak of concurrent use are plain values.
package classic
