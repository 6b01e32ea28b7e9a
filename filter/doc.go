// Package filter smooths telemetry samples: it suppresses the short spikes
// that the start and stop of containers cause, and converges at once on a
// level that lasts.
//
// # The problem
//
// At 10 Hz the spike of a container event lasts about 200 ms, and a change
// that lasts longer than 300 ms is a new level (the source is L. Choteborsky,
// "Hands at the Ready: Bringing Pronto to Kubernetes", 2025, §4.2.2, which
// calls its filter Dynamic EMA). An exponential moving average m += a·(x − m)
// with one gain a cannot do both: a spike of n samples leaks 1 − (1−a)ⁿ of its
// height, and a step needs ln .1/ln(1−a) samples to be taken to 90 %. Filters
// that adapt a to the speed of the signal speed up into spikes, for the first
// sample of a spike and the first of a step are the same. Only time tells
// them apart, hence a gate on persistence.
//
// # The dynamic EMA
//
// Each channel keeps an estimate m, a noise scale v (mean absolute deviation
// within the gate) and a run length:
//
//	e = x − m;  θ = max(δ, κ·v)
//	|e| ≤ θ :  run = 0;  m += a_norm·e;  v += 0.05·(|e| − v)
//	else    :  run = run+1 if e has the sign of the run, otherwise 1
//	           m += (run < N ? a_hold : a_fast)·e
//
// The first sample sets m. As every gain is in (0, 1], m stays in the hull of
// the samples.
//
// Spike. While run < N each sample of a spike of height h moves m by a_hold of
// the rest, so n < N samples leak h·(1 − (1−a_hold)ⁿ): 5 % for one, 19 % for
// four. Step. N−1 samples are held, then each takes a_fast of the rest: with
// the defaults 96 % of a step is taken after 6 samples, 600 ms.
//
// N. A sample averages an interval, so a spike of 300 to 360 ms, whose start
// falls anywhere in an interval, touches 4 or 5 samples. N = 4 takes the
// fourth for a new level and leaks 40 to 74 % on average over the phase;
// N = 5 leaks a third of that and costs a step one sample more. Hence N = 5.
//
// Noise. Within the gate the filter is a plain average and leaves
// √(a_norm/(2−a_norm)) = 42 % of a noise. The gate follows the noise by v, but
// only samples within it update v, so it takes long to widen to a noise far
// above δ. A wide gate is a weaker one: once κ·v comes near the height of a
// spike, the spike passes at a_norm. A spike of three samples and height .6
// leaks 14 % at a noise of standard deviation .01, 16 % at .1 and 37 % at .15.
//
// # Conventions
//
// [Step] is the pure form over a value [State]; [Bank] is its vector form,
// free of allocations, behind the interface [Filter] that other filters share.
// Inputs are never modified and never retained. Invalid input, NaN and
// infinities included, yields a [*FieldError] and changes nothing; nothing
// panics.
package filter
