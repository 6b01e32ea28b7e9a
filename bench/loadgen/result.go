package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// result is what a run found. Its JSON names are for scripts.
type result struct {
	Nodes       int     `json:"nodes"`
	Rate        float64 `json:"rate"`
	Channels    int     `json:"channels"`
	Connections int     `json:"connections"`
	Seconds     float64 `json:"seconds"`
	// Answered is pushes a second, Failed counts them, Failure is the last reason.
	Answered float64 `json:"answered_per_second"`
	Failed   int     `json:"failed"`
	Failure  string  `json:"failure,omitempty"`
	// Call is what a node sees, Due counts from when it was to push.
	Call quantiles `json:"call"`
	Due  quantiles `json:"from_due"`
	// Handler and Tick are of the aggregator's histograms.
	Handler bounds `json:"handler"`
	Tick    bounds `json:"tick"`
	// Cores, ResidentMiB and HeapMiB are the aggregator's, which knows of Known
	// nodes; OwnCores is what this program took.
	Cores       float64 `json:"cores"`
	ResidentMiB float64 `json:"rss_mib"`
	HeapMiB     float64 `json:"heap_mib"`
	Known       int     `json:"known_nodes"`
	OwnCores    float64 `json:"own_cores"`
}

// quantiles of latencies, in nanoseconds.
type quantiles struct {
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
	P999 time.Duration `json:"p999"`
	Max  time.Duration `json:"max"`
}

func quantilesOf(sorted []time.Duration) quantiles {
	at := func(q float64) time.Duration { return sorted[int(q*float64(len(sorted)-1))].Round(time.Microsecond) }
	return quantiles{at(.5), at(.9), at(.99), at(.999), at(1)}
}

func (q quantiles) String() string {
	return fmt.Sprintf("p50 %v, p90 %v, p99 %v, p99.9 %v, max %v", q.P50, q.P90, q.P99, q.P999, q.Max)
}

// bounds of two quantiles from above, in nanoseconds: those of a histogram's
// buckets.
type bounds struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

func (b bounds) String() string { return fmt.Sprintf("p50 < %v, p99 < %v", b.P50, b.P99) }

func (r result) write(w io.Writer, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(w, "%d nodes at %g/s, d=%d, over %d connections for %.0f s\n", r.Nodes, r.Rate, r.Channels, r.Connections, r.Seconds)
	fmt.Fprintf(w, "pushes answered   %.0f/s, %d failed\n", r.Answered, r.Failed)
	if r.Failure != "" {
		fmt.Fprintf(w, "last failure      %s\n", r.Failure)
	}
	fmt.Fprintf(w, "latency           %v\n", r.Call)
	fmt.Fprintf(w, "from due          %v\n", r.Due)
	fmt.Fprintf(w, "handler           %v\n", r.Handler)
	fmt.Fprintf(w, "tick              %v\n", r.Tick)
	fmt.Fprintf(w, "aggregator        %.2f cores, %.1f MiB resident, %.1f MiB of heap in use, %d nodes\n", r.Cores, r.ResidentMiB, r.HeapMiB, r.Known)
	fmt.Fprintf(w, "load generator    %.2f cores\n", r.OwnCores)
	return nil
}
