package figures

import (
	"cmp"
	"context"
	"slices"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// The arrivals of the first finding: four pods of 10 s a second on 76 cores.
const (
	runawayLoad = .53
	runawayWork = 10
	runawaySpan = 300
)

// fullest draws the pods on the fullest node over time, for the thesis's
// algorithm and what it is compared with.
func fullest(ctx context.Context, p Params) ([]report.Panel, error) {
	panel := report.Panel{
		Title: "pods running on the fullest node, one seed", X: report.Axis{Label: "seconds", Min: 0, Max: 400},
		Y: report.Axis{Label: "pods", Log: true, Min: .9, Max: 150},
	}
	params := experiment.Params{Nodes: 19, Cores: 4, Work: runawayWork, Law: workload.Equal}
	pods, err := workload.Poisson(p.Seed, runawayLoad, float64(params.Nodes*params.Cores), params.Work, runawaySpan, params.Law)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"source-headroom", "source", "source-signal", experiment.Reference, experiment.Default} {
		scheduler, err := experiment.SchedulerOf(name, params)
		if err != nil {
			return nil, err
		}
		result, err := sim.Run(ctx, sim.Config{
			Nodes: params.Nodes, Scheduler: scheduler, Latency: .001, Seed: p.Seed, Horizon: 4 * runawaySpan,
		}, pods)
		if err != nil {
			return nil, err
		}
		panel.Series = append(panel.Series, report.Series{Name: name, Style: report.Steps, Points: mostAtOnce(result)})
	}
	return []report.Panel{panel}, nil
}

// mostAtOnce is the largest number of pods that run on one node, over time.
func mostAtOnce(r sim.Result) []report.Point {
	type change struct {
		at       float64
		node, by int
	}
	var changes []change
	for _, record := range r.Records {
		if record.Done >= 0 {
			changes = append(changes, change{record.Running, record.Node, 1}, change{record.Done, record.Node, -1})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
	running := make([]int, r.Nodes)
	var points []report.Point
	for _, c := range changes {
		running[c.node] += c.by
		most := slices.Max(running)
		if len(points) > 0 && points[len(points)-1].Y == float64(most) || most == 0 {
			continue
		}
		points = append(points, report.Point{X: c.at, Y: float64(most)})
	}
	return points
}
