// Package tuning shows what became of services whose requests a profiler corrects: the
// runs of package sim/tuning as a table, with the bars, and as a picture.
package tuning
