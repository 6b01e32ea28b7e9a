package compare

import (
	"maps"
	"math"
	"slices"
)

// runResult is what was measured of a scheduler once. It is a plain value, safe for concurrent
// reading. Times are in seconds.
type runResult struct {
	// Scheduler is its name in the report, Pair its round, from 0.
	Scheduler string `json:"scheduler"`
	Pair      int    `json:"pair"`
	// Void is why the run counts for nothing; empty if it counts.
	Void string `json:"void,omitempty"`
	// Seconds is how long it was measured.
	Seconds float64 `json:"seconds"`
	// Joules are those of all machines, Overhead the part of the scheduler and the
	// agents.
	Joules   float64 `json:"joules"`
	Overhead float64 `json:"overhead_joules"`
	// CPU is processor time by role.
	CPU map[string]float64 `json:"cpu_seconds"`
	// Requests were answered well, Errors not.
	Requests int `json:"requests"`
	Errors   int `json:"errors"`
	// P50, P99 and P999 are quantiles of the requests' latency.
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	// Late is the share of requests that were sent late.
	Late float64 `json:"late"`
	// Bind is the mean time from a pod's creation until it was bound; 0 if none was.
	Bind float64 `json:"bind"`
	// Bound is how many pods were.
	Bound int `json:"bound"`
	// Pods is how many pods each node had on average.
	Pods map[string]float64 `json:"pods"`
}

// quantity is a number of a run that schedulers are compared by.
type quantity struct {
	// Name has its unit.
	name string
	// of is above 0 where the run has it.
	of func(runResult) float64
}

// known is NaN where the run does not have it.
func (q quantity) known(r runResult) float64 {
	if v := q.of(r); v > 0 {
		return v
	}
	return math.NaN()
}

// quantities are what schedulers are compared by, in the order of the report.
func quantities() []quantity {
	return []quantity{
		{"energy, J", func(r runResult) float64 { return r.Joules }},
		{joulesARequest, func(r runResult) float64 { return r.Joules / float64(r.Requests) }},
		{"scheduler and agents, J", func(r runResult) float64 { return r.Overhead }},
		{"processor time of all, s", runResult.total},
		{"latency p50, ms", func(r runResult) float64 { return 1e3 * r.P50 }},
		{"latency p99, ms", func(r runResult) float64 { return 1e3 * r.P99 }},
		{"latency p99.9, ms", func(r runResult) float64 { return 1e3 * r.P999 }},
		{"creation to bind, ms", func(r runResult) float64 { return 1e3 * r.Bind }},
	}
}

// joulesARequest is the quantity that the report is about.
const joulesARequest = "energy a request, J"

func (r runResult) total() (sum float64) {
	for _, role := range slices.Sorted(maps.Keys(r.CPU)) { // sums of floats depend on their order
		sum += r.CPU[role]
	}
	return sum
}
