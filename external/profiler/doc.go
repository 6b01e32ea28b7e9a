// Package profiler is an external scheduler that learns by trying: it runs each pair of
// jobs beside each other in one Testbed, keeps how long either took in the jobs themselves,
// and puts jobs that get on well together on the nodes of another Testbed. It is the
// example of L. Schwerdtfeger's thesis (see package testbed; §5.2), and uses only the
// interface's client.
//
//	p, err := profiler.New(profiler.Config{Client: c, Profiling: "small", Target: "large"})
//	…
//	err = p.Profile(ctx, 1)          // each pair once
//	plan, err := p.Plan(ctx)         // of all pairings the one that is done first
//	outcome, err := p.Schedule(ctx, plan.Pairs)
//
// Jobs keep what is known of them under "profiler" of what outside programs keep in a job:
// an object from the other job's name to {"count", "mean", "squares"} in seconds (package
// testbed/colocate); the thesis' form, "24 (16)", is read too. Nothing else is there that
// could be lost: a profiler that is started anew goes on, and several may run at once.
//
// A run counts from the moment at which the application and all its pods ran to its end, as
// the interface reports it, in whole seconds; jobs should take many.
//
// Types that do not speak of concurrent use are plain values.
package profiler
