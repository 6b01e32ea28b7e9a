// Package power follows what a machine takes and divides it among its pods: a source
// of energy/source through the meter, the curve and the split of package energy, with
// the CPU times of package telemetry. [Meter] does so at each call, at the times
// that it is given; [Metrics] shows what it has found.
package power
