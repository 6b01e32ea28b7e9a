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
// sample of a spike and the first of a step are the same. Only time
// distinguishes them, hence a gate on persistence.
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
// spike, the spike passes at a_norm. Settled, the gate lets 14 % of a spike of
// three samples and height .6 leak at a noise of standard deviation .01, 16 %
// at .1 and 21 % at .15.
//
// # Why these defaults
//
// Package sim/thesis has three other filters to compare with: EMA, MedianEMA and
// OneEuro. Its TestTrade holds this table: the leak of a spike of height .6 of
// 300 and of 360 ms at a random phase, and of three spikes of 200 ms within a
// second, the samples to 90 % of a step, the lag behind a ramp, and the leak
// of four samples in a Gaussian noise of standard deviation .15.
//
//	                   300 ms  360 ms  burst  step  lag  in noise
//	dynamic              14 %    22 %   24 %     6  2.3      38 %
//	  N = 4              40 %    74 %   24 %     5  2.3      83 %
//	  a_hold = .02        6 %    16 %   10 %     6  2.3      33 %
//	  κ = 4              14 %    22 %   24 %     6  2.3      51 %
//	EMA, a = .3          61 %    68 %   62 %     7  2.3      76 %
//	EMA, a = .05         14 %    16 %   24 %    45 18.7      18 %
//	median 9, a = .8      0 %     9 %   73 %     6  4.2      38 %
//	One Euro             91 %    95 %   79 %     3  1.7     101 %
//
// An average that leaks as little takes seven times as long to a step; one
// that follows the speed takes the spike for speed. A median over 9 samples
// removes a single spike at the same delay of a step, and would be the better
// filter if spikes came alone. But the start of a pod is a burst of them, by
// which the window is filled, and it delays all that is no spike as well.
//
// Of the constants, N is discussed above. A lower a_hold leaks less; but what
// the gate holds may be a load that alternates faster than N samples, of which
// the gate knows nothing: .05 notices it in 14 samples, .02 in 42. Of κ, 4 lets
// spikes pass as the gate widens, and 2.5 excludes so much of the noise that
// the gate is slow to widen, and leaks as much before it has: 3 is the least
// of the three in noise, and all are alike without it. δ only has to exceed
// the noise of an idle node; what is smaller passes at a_norm.
//
// # Conventions
//
// [Step] is the pure form over a value [State], [Dynamic] the same by a
// configuration validated once, and [Bank] the form for several channels, free
// of allocations.
// Inputs are never modified and never retained. Invalid input, NaN and
// infinities included, yields an error that names it and changes nothing; nothing
// panics.
//
// Types that do not speak of concurrent use are plain values.
package filter
