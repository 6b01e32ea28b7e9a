package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/profile"
)

// demands are the figures of a run whose pods are of workloads.
func demands(r Result) []Metric {
	var waits []sized
	var ratios [2][]float64
	profiled, bound := 0, 0
	for i, record := range r.Records {
		p := &r.Pods[i]
		if p.Workload == "" || p.Server.Rate > 0 || record.Bound < 0 || r.Memory == 0 {
			continue
		}
		bound++
		need := p.Need()
		waits = append(waits, sized{math.Max(need.CPU/r.Cores, need.Memory/r.Memory), record.Bound - p.Created})
		if record.Expected != (profile.Demand{}) {
			profiled++
		}
		for of, pair := range [2]struct {
			expected profile.Share
			takes    float64
		}{{record.Expected.CPU, need.CPU}, {record.Expected.Memory, need.Memory}} {
			if pair.expected.Confidence > 0 && pair.expected.Amount > 0 {
				ratios[of] = append(ratios[of], pair.takes/pair.expected.Amount)
			}
		}
	}
	if bound == 0 {
		return nil
	}
	var m metrics
	m.add("wait_largest_tenth", waitOfLargest(waits, (bound+9)/10), "s")
	m.add("profiled", float64(profiled)/float64(bound), "1")
	for of, name := range []string{"cpu_ratio", "memory_ratio"} {
		if len(ratios[of]) == 0 {
			continue
		}
		slices.Sort(ratios[of])
		for _, q := range []struct {
			name string
			p    float64
		}{{"_p10", .1}, {"_p50", .5}, {"_p90", .9}} {
			m.add(name+q.name, nearestRank(ratios[of], q.p), "1")
		}
	}
	return m
}

// sized is the wait of a pod of a size.
type sized struct{ size, wait float64 }

// waitOfLargest is the mean wait of the n largest, in which those that are as large as the smallest
// of them all have the same part: who came first is not larger.
func waitOfLargest(waits []sized, n int) float64 {
	slices.SortFunc(waits, func(a, b sized) int { return cmp.Compare(b.size, a.size) })
	least := waits[n-1].size
	larger, alike, sum, sumAlike := 0, 0, 0., 0.
	for _, w := range waits {
		switch {
		case w.size > least:
			larger++
			sum += w.wait
		case w.size == least:
			alike++
			sumAlike += w.wait
		}
	}
	return (sum + float64(n-larger)*sumAlike/float64(alike)) / float64(n)
}

// nearestRank is a quantile of sorted values.
func nearestRank(sorted []float64, p float64) float64 {
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}
