// Package experiment runs the comparisons that Spazio is judged by: named
// workloads under named schedulers over seeds, and what follows from the rows.
//
//	experiment, err := experiment.ByName("batch")
//	cases, err := experiment.Cases(experiment.Params{}, experiment.Sweep{})
//	rows, err := experiment.Run(ctx, cases, experiment.Options{Seeds: []uint64{1, 2, 3}, Workers: 2})
//	for _, line := range experiment.Ratios(rows, experiment.Default) { … }
//
// A [Selection] makes the cases of several at once, as command lines name them; [Given]
// makes an experiment of one's own pods. [OptionsOf] names the fields of a configuration, and
// sets them by name, as command lines and [Params].Set do.
//
// A run yields one [Row] a metric. [Summarise] brings the rows of all seeds to a
// mean and its 95 % confidence interval (Student's t), [Ratios] compares each
// scheduler with another seed by seed and gives the geometric mean of the
// ratios, and [Judge] holds the targets against them.
//
// "The thesis" is the one that package sim names. Runs are independent of each other and
// spread over the cores; the rows come in
// the order of cases, schedulers and seeds, whatever ran first.
//
// Types that do not speak of concurrent use are plain values.
package experiment
