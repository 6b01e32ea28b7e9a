package recording

import (
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
)

// Difference names the first field in which two reports differ, with both
// values: "Avail: 3.25 and 3.5". Floats are compared bit for bit, times as
// moments.
func Difference(a, b agent.Report) (text string, differs bool) {
	for _, f := range [...]struct {
		name string
		same bool
		a, b any
	}{
		{"Node", a.Node == b.Node, a.Node, b.Node},
		{"Incarnation", a.Incarnation == b.Incarnation, a.Incarnation, b.Incarnation},
		{"Sequence", a.Sequence == b.Sequence, a.Sequence, b.Sequence},
		{"SampledAt", a.SampledAt.Equal(b.SampledAt), a.SampledAt, b.SampledAt},
		{"Schema", a.Schema == b.Schema, a.Schema, b.Schema},
		{"Avail", same(a.Avail, b.Avail), a.Avail, b.Avail},
		{"Allowance", same(a.Allowance, b.Allowance), a.Allowance, b.Allowance},
		{"Pods", slices.Equal(a.Pods, b.Pods), len(a.Pods), len(b.Pods)},
		{"Saturated", a.Saturated == b.Saturated, a.Saturated, b.Saturated},
		{"K", same(a.K, b.K), a.K, b.K},
		{"Limiting", a.Limiting == b.Limiting, a.Limiting, b.Limiting},
		{"Flags", a.Flags == b.Flags, a.Flags, b.Flags},
		{"Floored", a.Floored == b.Floored, a.Floored, b.Floored},
		{"Mispredictions", slices.Equal(a.Mispredictions, b.Mispredictions), a.Mispredictions, b.Mispredictions},
		{"Power", samePower(a.Power, b.Power), a.Power, b.Power},
		{"PodCores", slices.EqualFunc(a.PodCores, b.PodCores, same32), a.PodCores, b.PodCores},
		{"PodWatts", slices.EqualFunc(a.PodWatts, b.PodWatts, same32), a.PodWatts, b.PodWatts},
		{"len(Channels)", len(a.Channels) == len(b.Channels), len(a.Channels), len(b.Channels)},
	} {
		if !f.same {
			return fmt.Sprintf("%s: %v and %v", f.name, f.a, f.b), true
		}
	}
	for i, c := range a.Channels {
		d := b.Channels[i]
		if c.Name != d.Name || !same(c.Usage, d.Usage) || !same(c.Capacity, d.Capacity) ||
			!same(c.Cost, d.Cost) || !same(c.CostSD, d.CostSD) || !same(c.Room, d.Room) || !same(c.StartupAllowance, d.StartupAllowance) ||
			!same(c.Unit, d.Unit) || !same(c.PodSD, d.PodSD) || !same(c.Most, d.Most) {
			return fmt.Sprintf("Channels[%d]: %+v and %+v", i, c, d), true
		}
	}
	return "", false
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func same32(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func samePower(a, b energy.Power) bool {
	return a.Quality == b.Quality && a.Flags == b.Flags && same(a.Watts, b.Watts) && same(a.SD, b.SD) &&
		same(a.Max, b.Max) && same(a.Idle, b.Idle) && same(a.Marginal, b.Marginal) &&
		same(a.Busy, b.Busy) && same(a.Cores, b.Cores) && same(a.Joules, b.Joules)
}
