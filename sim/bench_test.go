package sim_test

import (
	"runtime"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// benchmark runs pods of a minute that arrive for the given time at a load of .7.
func benchmark(b *testing.B, nodes int, seconds float64, s sim.Scheduler) {
	pods, err := workload.Poisson(1, .7, 4*float64(nodes), 60, seconds, workload.Equal)
	if err != nil {
		b.Fatal(err)
	}
	// One that arrives last and is cut off by the horizon keeps the span exact.
	pods = append(pods, sim.Pod{Created: seconds - 1, Work: 1e6})
	b.ReportAllocs()
	for b.Loop() {
		run(b, sim.Config{Nodes: nodes, Horizon: seconds, Scheduler: s, Seed: 1}, pods)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB-of-the-process")
}

// BenchmarkThousandNodesHour is an hour of 1,000 nodes, 36 million samples.
func BenchmarkThousandNodesHour(b *testing.B) { benchmark(b, 1000, 3600, sim.Spazio{}) }

// The same without agents: what nodes and kube-scheduler take.
func BenchmarkThousandNodesHourDefault(b *testing.B) { benchmark(b, 1000, 3600, sim.Default{}) }

// Ten minutes of 10,000 nodes.
func BenchmarkTenThousandNodes(b *testing.B) { benchmark(b, 10_000, 600, sim.Spazio{}) }
