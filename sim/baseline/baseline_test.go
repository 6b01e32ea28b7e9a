package baseline_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/baseline"
)

const gi = 1 << 30

// A node of 4 cores and 16 GiB.
var machine = baseline.Resources{CPU: 4, Memory: 16 * gi}

func TestLeastAllocated(t *testing.T) {
	tests := []struct {
		name      string
		requested baseline.Resources
		want      int64
	}{
		{"empty", baseline.Resources{}, 100}, // (100 + 100)/2
		// cpu 100·2/4 = 50, memory 100·12/16 = 75, mean 62.5 rounded down.
		{"half of the cores", baseline.Resources{CPU: 2, Memory: 4 * gi}, 62},
		// One pod of 100m and 200Mi: 97.5 and 98.78 rounded down to 97 and 98, mean 97.5.
		{"one pod of defaults", baseline.NonZero(baseline.Resources{}), 97},
		// cpu 0 beyond its capacity, memory 50.
		{"too many cores", baseline.Resources{CPU: 5, Memory: 8 * gi}, 25},
		{"full", machine, 0},
		// 4000m − 3·.7 cores is 1900m exactly: 47.5, and memory 100.
		{"decimal fractions", baseline.Resources{CPU: .7 + .7 + .7}, 73},
		// A part of a thousandth counts as one: 3999 of 4000m, 99.975.
		{"a part of a thousandth", baseline.Resources{CPU: .0001}, 99},
	}
	for _, test := range tests {
		if got := baseline.LeastAllocated(machine, test.requested); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// With b(cpu share, memory share) = 100·(1 − half the difference), rounded down.
func TestBalancedAllocation(t *testing.T) {
	tests := []struct {
		name           string
		requested, pod baseline.Resources
		want           int64
	}{
		{"a pod that requests nothing", baseline.Resources{CPU: 2}, baseline.Resources{}, 0},
		// b(.5, .25) = 87 after b(0, 0) = 100: 50 + (50 − 13)/2.
		{"an empty node", baseline.Resources{}, baseline.Resources{CPU: 2, Memory: 4 * gi}, 68},
		// b(.5, .5) = 100 after b(.5, 0) = 75: 50 + (50 + 25)/2.
		{"better balanced", baseline.Resources{CPU: 2}, baseline.Resources{Memory: 8 * gi}, 87},
		{"as balanced as before", baseline.Resources{CPU: 1, Memory: 4 * gi}, baseline.Resources{CPU: 1, Memory: 4 * gi}, 75},
		// b(1, .5) = 75, a share is at most 1, after b(.75, .5) = 87: 50 + (50 − 12)/2.
		{"beyond the node", baseline.Resources{CPU: 3, Memory: 8 * gi}, baseline.Resources{CPU: 2}, 69},
	}
	for _, test := range tests {
		if got := baseline.BalancedAllocation(machine, test.requested, test.pod); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestNonZero(t *testing.T) {
	got := baseline.NonZero(baseline.Resources{CPU: 2})
	if diff := cmp.Diff(baseline.Resources{CPU: 2, Memory: 200 << 20}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTargetLoadPacking(t *testing.T) {
	tests := []struct {
		expected float64 // of 4 cores
		want     int64
	}{
		{0, 40},  // T
		{.8, 70}, // x = 20: 60·20/40 + 40
		{1.6, 100},
		{2.4, 27}, // x = 60: 40·40/60 = 26.7
		{4, 0},
		{4.1, 0},
	}
	for _, test := range tests {
		if got := baseline.TargetLoadPacking(test.expected, 4, baseline.TargetUtilisation); got != test.want {
			t.Errorf("%g of 4 cores: %d, want %d", test.expected, got, test.want)
		}
	}
}

func TestPredictedCPU(t *testing.T) {
	tests := []struct{ request, limit, want float64 }{
		{0, 0, 1}, {.5, 0, .75}, {.0005, 0, .001}, {.5, 2, 2},
	}
	for _, test := range tests {
		if got := baseline.PredictedCPU(test.request, test.limit); got != test.want {
			t.Errorf("request %g, limit %g: %g, want %g", test.request, test.limit, got, test.want)
		}
	}
}

func TestLoadVariationRiskBalancing(t *testing.T) {
	first := baseline.LoadVariationRiskBalancing{Sensitivity: 1}
	tests := []struct {
		name        string
		plugin      baseline.LoadVariationRiskBalancing
		cpu, memory baseline.Usage
		request     baseline.Resources
		want        int64
	}{
		{name: "idle", want: 100},
		// cpu: μ = (1+1)/4 = .5, σ = √(1/4) = .5: 100·(1 − .5); memory: μ = .25, σ = 0:
		// 87.5.
		{"cpu is riskier", baseline.LoadVariationRiskBalancing{}, baseline.Usage{Mean: 1, SD: 1}, baseline.Usage{Mean: 4 * gi}, baseline.Resources{CPU: 1}, 50},
		// Without the root σ = .25: 100·(1 − .375) = 62.5, rounded 63.
		{"the first power", first, baseline.Usage{Mean: 1, SD: 1}, baseline.Usage{Mean: 4 * gi}, baseline.Resources{CPU: 1}, 63},
		// σ = 3·√(1/16) = .75: 100·(1 − (.5 + .75)/2) = 37.5.
		{"a margin of three", baseline.LoadVariationRiskBalancing{Margin: 3}, baseline.Usage{Mean: 1, SD: .25}, baseline.Usage{}, baseline.Resources{CPU: 1}, 38},
		// memory: μ = 1 (capped), σ = √.25: 25; a deviation beyond the node is 1.
		{"memory is riskier", baseline.LoadVariationRiskBalancing{}, baseline.Usage{Mean: 1}, baseline.Usage{Mean: 20 * gi, SD: 4 * gi}, baseline.Resources{}, 25},
		{"beyond the node", baseline.LoadVariationRiskBalancing{}, baseline.Usage{Mean: 2, SD: 9}, baseline.Usage{}, baseline.Resources{}, 25},
	}
	for _, test := range tests {
		if got := test.plugin.Score(test.cpu, test.memory, test.request, machine); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestLowRiskOverCommitment(t *testing.T) {
	// μ = ½ and σ√5 = √(1/12) make the Beta distribution uniform: α = β = 1, so
	// its CDF at x is x.
	uniform := baseline.Usage{Mean: 2, SD: 4 * math.Sqrt(1./12/5)}
	none := [2]baseline.Declared{}
	cpu := func(request, limit float64) [2]baseline.Declared {
		return [2]baseline.Declared{{Request: request, Limit: limit}, {}}
	}
	tests := []struct {
		name          string
		usage         baseline.Usage
		without, with [2]baseline.Declared
		want          int64
	}{
		{"idle and empty", baseline.Usage{}, none, cpu(1, 1), 100},
		// Limits 6 of 4 cores, requests 2: (6−4)/(6−2) = .5, half of it; nothing
		// used, so p = 1.
		{"limits beyond the node", baseline.Usage{}, cpu(1, 5), cpu(2, 6), 75},
		// p = CDF(1/4) = .25, limits at the capacity: risk .5·.75 = .375.
		{"uniform load", uniform, cpu(1, 4), cpu(1, 4), 63},
		// Limits of 2 keep usage below .5: p = .25/.5, risk .25.
		{"uniform load below its limits", uniform, cpu(1, 2), cpu(1, 2), 75},
		// No variation and usage above what is requested: p = 0, risk .5.
		{"steady load above its requests", baseline.Usage{Mean: 2}, cpu(1, 4), cpu(1, 4), 50},
		{"steady load within its requests", baseline.Usage{Mean: 1}, cpu(1, 4), cpu(1, 4), 100},
		// A sum that rounding took below 0 counts as 0: p = 0, risk .5.
		{"a request just below nothing", uniform, cpu(-1e-15, 4), cpu(1, 4), 50},
		// Nothing declared before: L⁻ = 0, so p = 1 whatever is used.
		{"load of pods that declare nothing", uniform, none, cpu(1, 1), 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := baseline.LowRiskOverCommitment(test.usage, baseline.Usage{}, test.without, test.with, machine)
			if got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

func TestLoadAware(t *testing.T) {
	var l baseline.LoadAware
	estimates := []struct {
		name                 string
		request, limit, want baseline.Resources
	}{
		{"nothing declared", baseline.Resources{}, baseline.Resources{}, baseline.Resources{CPU: .25, Memory: 200 << 20}},
		{"requests", baseline.Resources{CPU: 1, Memory: 1000}, baseline.Resources{}, baseline.Resources{CPU: .85, Memory: 700}},
		{"limits", baseline.Resources{CPU: 1}, baseline.Resources{CPU: 2, Memory: 1000}, baseline.Resources{CPU: 1.7, Memory: 700}},
	}
	for _, test := range estimates {
		if diff := cmp.Diff(test.want, l.Estimate(test.request, test.limit)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	tests := []struct {
		expected baseline.Resources
		fits     bool
		score    int64
	}{
		{baseline.Resources{}, true, 100},
		{baseline.Resources{CPU: 2.6, Memory: 8 * gi}, true, 42},   // 65 %: (35+50)/2
		{baseline.Resources{CPU: 2.61, Memory: 8 * gi}, true, 42},  // 65.25 rounds to 65
		{baseline.Resources{CPU: 2.63, Memory: 8 * gi}, false, 42}, // 65.75 rounds to 66
		{baseline.Resources{CPU: 1, Memory: 15.5 * gi}, false, 39}, // 97 % of memory: (75+3)/2
		{baseline.Resources{CPU: 5, Memory: 8 * gi}, false, 25},
	}
	for _, test := range tests {
		if got := l.Fits(test.expected, machine); got != test.fits {
			t.Errorf("%+v fits: %v", test.expected, got)
		}
		if got := l.Score(test.expected, machine); got != test.score {
			t.Errorf("%+v scores %d, want %d", test.expected, got, test.score)
		}
	}
	if l.Fits(baseline.Resources{}, baseline.Resources{}) {
		t.Error("nothing fits on a node of nothing")
	}
}

func TestWithoutCapacity(t *testing.T) {
	var none baseline.Resources
	for name, got := range map[string]int64{
		"least allocated":     baseline.LeastAllocated(none, none),
		"target load packing": baseline.TargetLoadPacking(0, 0, 40),
		"load variation":      baseline.LoadVariationRiskBalancing{}.Score(baseline.Usage{}, baseline.Usage{}, none, none),
		"low risk":            baseline.LowRiskOverCommitment(baseline.Usage{}, baseline.Usage{}, [2]baseline.Declared{}, [2]baseline.Declared{}, none),
	} {
		if got != 0 {
			t.Errorf("%s: %d, want 0", name, got)
		}
	}
}

// With one resource there is no balance, and its free share is the score.
func TestNodeOfOneResource(t *testing.T) {
	for _, alloc := range []baseline.Resources{{CPU: 4}, {Memory: 4 * gi}} {
		pod := baseline.Resources{CPU: 1, Memory: gi}
		if got := baseline.BalancedAllocation(alloc, baseline.Resources{}, pod); got != 75 {
			t.Errorf("%+v: balance %d, want 75", alloc, got)
		}
		if got := baseline.LeastAllocated(alloc, pod); got != 75 {
			t.Errorf("%+v: free share %d, want 75", alloc, got)
		}
	}
}

// If a full node is the target, it is the best.
func TestTargetOfAll(t *testing.T) {
	if got := baseline.TargetLoadPacking(4, 4, 100); got != 100 {
		t.Errorf("%d, want 100", got)
	}
}

// Resources that the pod does not request are left out.
func TestLeastAllocatedBatch(t *testing.T) {
	requested := baseline.Resources{CPU: 1, Memory: 4 * gi} // 75 and 75
	batch := baseline.Resources{CPU: 2, Memory: 10 * gi}
	for _, test := range []struct {
		name      string
		batch     baseline.Resources
		requested baseline.Resources
		want      int64
	}{
		{"all four", batch, baseline.Resources{CPU: 1, Memory: 9 * gi}, 52},                             // (75 + 75 + 50 + 10)/4
		{"no batch memory", baseline.Resources{CPU: 2}, baseline.Resources{CPU: 2, Memory: 9 * gi}, 50}, // (75 + 75 + 0)/3
		{"none", baseline.Resources{}, batch, 75},
	} {
		if got := baseline.LeastAllocatedBatch(machine, requested, test.batch, test.requested); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestBatchAllocatable(t *testing.T) {
	for _, test := range []struct {
		name                             string
		system, reserved, others, expect baseline.Resources
	}{
		{"idle", baseline.Resources{}, baseline.Resources{}, baseline.Resources{}, baseline.Resources{CPU: 2.4, Memory: 10.4 * gi}},
		{"the larger of system and reserved", baseline.Resources{CPU: .4}, baseline.Resources{CPU: .2, Memory: gi}, baseline.Resources{CPU: 1}, baseline.Resources{CPU: 1, Memory: 9.4 * gi}},
		{"full", baseline.Resources{CPU: 3}, baseline.Resources{}, baseline.Resources{Memory: 12 * gi}, baseline.Resources{}},
	} {
		got := baseline.BatchAllocatable(machine, test.system, test.reserved, test.others)
		if math.Abs(got.CPU-test.expect.CPU) > 1e-9 || math.Abs(got.Memory-test.expect.Memory) > 1 {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.expect)
		}
	}
}

func TestLoadAwareThreshold(t *testing.T) {
	l := baseline.LoadAware{CPUThreshold: .95}
	for _, test := range []struct {
		cpu  float64
		fits bool
	}{{3.8, true}, {3.81, true}, {3.83, false}} { // 95, 95.25 and 95.75 %
		if got := l.Fits(baseline.Resources{CPU: test.cpu}, machine); got != test.fits {
			t.Errorf("%g of 4 cores fit: %v", test.cpu, got)
		}
	}
}
