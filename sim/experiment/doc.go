// Package experiment runs the comparisons that Spazio is judged by: named
// workloads under named schedulers over seeds, and what follows from the rows.
//
// A run yields one [Row] a metric. [Summarise] brings the rows of all seeds to a
// mean and its 95 % confidence interval (Student's t), [Ratios] compares each
// scheduler with another seed by seed and gives the geometric mean of the
// ratios, and [Judge] holds the targets against them.
//
// Runs are independent of each other and spread over the cores; the rows come in
// the order of cases, schedulers and seeds, whatever ran first.
//
// Types that do not speak of concurrent use are plain values.
package experiment
