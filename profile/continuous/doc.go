// Package continuous corrects, every ten minutes, what was learnt of the services of an
// application by how they fare now: a factor on the target of each.
//
// It is the continuous profiler of S. Galantino's thesis (Politecnico di Torino, 2020,
// §4.6, 5.3.2), mended. With m a service's mean throttled share of the time since the
// step before, M the mean of its application's, and t its target:
//
//	raise by 20 %:  m ≥ .7 %, and m > 1.2·M or M ≥ .7 %; by 50 % if m ≥ 5 %
//	lower by 10 %:  m < .1 % and m < .8·M, to no less than the median of its demand
//	memory:         raise by 20 % on a kill for want of memory, or at 1 % of the time stalled
//
// A factor lies in [½, 8] (memory's in [1, 8]) and decays to 1 with a half-life of 24
// hours, as what was learnt catches up. What the thesis has and is not here: a band
// around the mean alone, which raises none where all suffer alike, lowers the healthy
// whenever one suffers, to below what they use, and is empty at a mean of 0. Its steps,
// 20 % and 10 %, are those of its author's program; the thesis names none. They are not
// enough: here 0.7 % of the time stalled raises, it is 50 % at once from 5 % on, the
// largest factor is 8, and what it multiplies is at least 25 millicores.
//
// [Config.Step] is all of it: whoever knows the applications (package connection) and how
// their services fared calls it every Config.Every.
//
// The package is pure: time is an argument, inputs are never modified. Errors are a
// *field.Error.
package continuous
