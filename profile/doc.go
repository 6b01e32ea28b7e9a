// Package profile learns what the pods of a workload take, from measurements of
// them, and says what the next one will: with a confidence, for a scheduler's
// ledger.
//
// It follows S. Galantino, "Kubernetes job profiling" (Politecnico di Torino,
// 2020), in what it keeps: weights that halve with a sample's age, a high
// percentile of CPU and the peak of memory, and slots of the day. Subpackage replay
// compares recommenders on recorded series.
//
//   - Histograms and peaks keep samples by bucket and by span of time. Both depend
//     on the samples alone, not on their order, and merging is addition.
//   - Evidence counts pods, not readings. Blend turns it into a Share, by Bühlmann's
//     credibility.
//   - Identify finds a pod's workload.
//   - Profile is one workload: windows of measurement in, a Demand by slot of the
//     day and recommendations by Preset out. It notices when what a workload takes
//     has changed: three pods in a row that contradict the evidence begin it anew.
//
// A program keeps a Profile for each workload:
//
//	workload, revision, _ := profile.Identify(meta) // whose pod it is
//	p, err := profile.New(profile.Config{})         // or Restore, of what State returned
//	err = p.Observe(at, window)                     // every window of every pod
//	d := p.Demand(at, 0)                            // what a scheduler counts the next pod at
//	r, err := p.Recommend(at, profile.Spazio(), profile.Bounds{}) // what containers should request
//
// Where a recorded series is all there is, a [History] and a preset's [Rule] do: see
// examples/profile in the repository.
//
// The thesis's profiler has these faults, which this package and its siblings mend:
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
// The package is pure: time is an argument, inputs are never modified, and it
// imports the standard library alone. Errors are a [*field.Error]; the state is then
// as it was.
//
// Types that do not speak of concurrent use are plain values.
package profile
