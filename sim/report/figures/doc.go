// Package figures draws the figures of the thesis ("Hands at the Ready: Bringing Pronto to
// Kubernetes", L. Choteborsky, 2025) anew, which it left without data, each from a recording of a
// real machine or from the simulator, and reports of each what the thesis claims, what is measured,
// and whether the claim holds.
//
//	chosen, err := figures.ByID("4.6", "4.7")
//	album, err := figures.Make(ctx, chosen, 1)
//	err = album.Save("figures")
//
// # Adding a figure
//
// A figure is an entry of [All]. Its make is a pure function of the seed; what it returns is data
// alone, which package report draws.
//
// # Recordings
//
// A recording is what a real machine showed under a known load, as a gzipped JSON object:
//
//	{"version": 1,
//	 "machine": {"cpu": "AMD EPYC", "cores": 2, "memory": 8e9, "kernel": "6.18", …},
//	 "runs": [{"load": "busy", "workers": 3,
//	   "at": [.1, .2, …],           end of each sample's span, seconds from the run's start
//	   "utilisation": [1, 1, …],    busy share of the cores over the span
//	   "pressure": [.98, 1, …],     share of the span in which a task waited for a core
//	   "avg10": [.02, .02, …],      the kernel's own mean of it over 10 s, as a share
//	   "memory": [.2, .2, …],       1 − MemAvailable/MemTotal at the span's end
//	   "stall": [0, 0, …],          share of the span in which a task waited for memory
//	   "jobs": [{"worker": 0, "start": .1, "end": 5.1, "cpu": 3.3}, …],
//	   "marks": [{"name": "sandbox", "at": .31}, …]}]}
//
// The first span of a run begins about one sampling period before its end. A run starts on an idle
// machine, and the load starts a moment after the run.
//
// Types are plain values unless they say otherwise.
package figures
