package figures

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// The node of figure 4.11 has eight cores, so that a pod that computes takes
// 1/16 of its cpu channel as long as no thread waits.
const (
	burstCores = 8
	burstCost  = 1. / (2 * burstCores)
	burstEvery = 20.
	burstEnd   = 600.
	burstMost  = 10 // pods of a burst
	// From burstOthers on another load, up to burstLoad cores, changes every
	// burstChange seconds.
	burstOthers = burstEnd / 2
	burstLoad   = 2.
	burstChange = 7.
)

// estimator is a way to estimate, under its name in the figure.
type estimator struct {
	name   string
	config pipeline.EstimatorConfig
	// level is set if it estimates the capacity, too.
	level bool
}

// estimators are those the thesis compares, with its "large constants in the Q
// matrix" taken as drifts as large as the noise, and the default.
func estimators() []estimator {
	const large = 1
	return []estimator{
		{"Δ filter", pipeline.EstimatorConfig{Method: thesis.Delta}, false},
		{"2-D, large Q", pipeline.EstimatorConfig{Method: thesis.Joint, Config: kalman.Config{LevelDrift: large, CostDrift: large}}, true},
		{"2-D", pipeline.EstimatorConfig{Method: thesis.Joint}, true},
		{"dual, as in the thesis", pipeline.EstimatorConfig{Method: thesis.Naive}, true},
		{"dual, centred (default)", pipeline.EstimatorConfig{}, true},
	}
}

// estimated is what an estimator said of the cpu channel, second by second.
type estimated struct {
	estimator
	at, cost, capacity []float64
}

// bursts is figure 4.11.
func bursts(ctx context.Context, seed uint64) (outcome, error) {
	var all []estimated
	var pods []report.Point
	for _, e := range estimators() {
		run, n, err := estimate(ctx, seed, e)
		if err != nil {
			return outcome{}, err
		}
		all, pods = append(all, run), n
	}
	result := outcome{source: simulated(seed, fmt.Sprintf("a node of %d cores; bursts of 1 to %d pods of one thread every %g s, 4 to 12 core-seconds each; in the second half a load that is no pod, of up to %g cores. The agent's pipeline feeds each estimator with the headroom of the cpu channel, filtered, and halts it while containers churn and while the channel is full, as the thesis does; there the signal k stood for the headroom", burstCores, burstMost, burstEvery, burstLoad))}
	x := report.Axis{Label: "seconds", Whole: true, Min: 0, Max: burstEnd}
	cost := report.Panel{Title: "cost of a pod, share of cpu", X: x, Y: report.Axis{Label: "share", Min: 0, Max: .18}}
	level := report.Panel{Title: "capacity at no pods, share of cpu", X: x, Y: report.Axis{Label: "share", Min: .7, Max: 1.3}}
	for _, e := range all {
		cost.Series = append(cost.Series, report.Series{Name: e.name, Points: line(e.at, e.cost)})
		if e.level {
			level.Series = append(level.Series, report.Series{Name: e.name, Points: line(e.at, e.capacity)})
		}
	}
	truth := []report.Point{{X: 0, Y: burstCost}, {X: burstEnd, Y: burstCost}}
	cost.Series = append(cost.Series, report.Series{Name: "truth below 8 pods", Style: report.Dashed, Points: truth})
	result.panels = []report.Panel{cost, level,
		{Title: "pods that run", X: x, Y: report.Axis{Label: "pods", Whole: true}, Series: []report.Series{{Name: "pods", Style: report.Steps, Points: pods}},
			Marks: []report.Mark{{Name: "another load from here on", X: burstOthers}}}}
	result.judgeEstimators(all)
	return result, nil
}

// accuracy is how an estimator does over a part of the figure: the mean error of
// the cost, its mean change in a second, both relative.
type accuracy struct{ wrong, unrest float64 }

func (e estimated) over(from, to float64) (a accuracy) {
	n := 0.
	for i := 1; i < len(e.at); i++ {
		if e.at[i] < from || e.at[i] >= to {
			continue
		}
		n++
		a.wrong += math.Abs(e.cost[i]/burstCost - 1)
		a.unrest += math.Abs(e.cost[i]-e.cost[i-1]) / burstCost
	}
	return accuracy{a.wrong / n, a.unrest / n}
}

// judgeEstimators compares errors and unrest, without the first minute and with
// the other load.
func (r *outcome) judgeEstimators(all []estimated) {
	var alone, beside []accuracy
	r.measured = "Error of the cost, and how far it moves in a second, relative to the cost a pod has while no thread waits, with bursts alone and beside another load. "
	for _, e := range all {
		a, b := e.over(60, burstOthers), e.over(burstOthers, burstEnd)
		alone, beside = append(alone, a), append(beside, b)
		name := metricName(e.name)
		r.values = append(r.values,
			value{name + "_error_alone", a.wrong, "1"}, value{name + "_error_beside", b.wrong, "1"},
			value{name + "_unrest_alone", a.unrest, "1/s"}, value{name + "_unrest_beside", b.unrest, "1/s"})
		r.measured += fmt.Sprintf("%s: %.0f %% and %.1f %%, beside %.0f %% and %.1f %%. ", e.name, 100*a.wrong, 100*a.unrest, 100*b.wrong, 100*b.unrest)
	}
	const delta, large, naive, centred = 0, 1, 3, 4
	oscillates := beside[large].unrest > 1.5*beside[centred].unrest
	switch {
	case oscillates && converges(alone[naive], alone[large]) && alone[delta].wrong < .1:
		r.verdict = holds
	case oscillates && converges(alone[centred], alone[large]) && alone[delta].wrong < .1:
		r.verdict = partly
		r.measured += "The dual filter of the thesis, whose halves both claim the whole innovation, does not converge; the centred one does, and is the two-dimensional one in other coordinates: what oscillates are the large constants, not the second dimension."
	default:
		r.verdict = fails
	}
}

// converges reports whether a finds the cost about as well as b or better.
func converges(a, b accuracy) bool { return a.wrong < 1.5*b.wrong+.02 }

// estimate runs the node under an agent with the estimator. Equal seeds give
// equal loads, whatever the estimator.
func estimate(ctx context.Context, seed uint64, e estimator) (estimated, []report.Point, error) {
	h, err := newHost(node.Params{Cores: burstCores, Seed: seed}, "node", func(c *agent.Config) { c.Estimator = e.config })
	if err != nil {
		return estimated{}, nil, err
	}
	if err := bindBursts(h.model, seed); err != nil {
		return estimated{}, nil, err
	}
	others := rand.New(rand.NewPCG(seed, 412))
	nextOthers := burstOthers
	out := estimated{estimator: e}
	var pods []report.Point
	for step := 1; float64(step)*sampling <= burstEnd; step++ {
		now := float64(step) * sampling
		if now >= nextOthers {
			nextOthers += burstChange
			if err := h.model.SetBackground(burstLoad * others.Float64()); err != nil {
				return out, nil, err
			}
		}
		if err := h.sample(now); err != nil {
			return out, nil, err
		}
		if step%10 != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return out, nil, err
		}
		w, ok := h.pipeline.Why()
		if !ok {
			continue
		}
		cpu := w.Channels[0].Own
		out.at = append(out.at, now)
		out.cost, out.capacity = append(out.cost, cpu.Cost), append(out.capacity, cpu.Capacity)
		pods = append(pods, report.Point{X: now, Y: float64(w.Pods)})
	}
	return out, pods, nil
}

func bindBursts(m *node.Model, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 411))
	id := 0
	for at := 5.; at < burstEnd; at += burstEvery {
		for range 1 + rng.IntN(burstMost) {
			id++
			pod := node.Pod{ID: node.PodID(id), Work: 4 + 8*rng.Float64(), Startup: node.StartupLatency(rng)}
			if err := m.Bind(at, pod); err != nil {
				return err
			}
		}
	}
	return nil
}
