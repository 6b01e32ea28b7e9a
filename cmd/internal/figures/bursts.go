package figures

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// The node of figure 4.11 has eight cores, so that a pod that computes takes
// 1/16 of its cpu channel as long as no thread waits.
const (
	burstCores = 8
	burstCost  = 1. / (2 * burstCores)
	burstEvery = 20.
	burstEnd   = 600.
	burstMost  = 10 // pods of a burst
)

// estimator is a way to estimate, under its name in the figure.
type estimator struct {
	name   string
	config kalman.Config
	// level says that it estimates the capacity, too.
	level bool
}

// estimators are those the thesis compares, with its "large constants in the Q
// matrix" taken as drifts as large as the noise, and the default.
func estimators() []estimator {
	const large = 1
	return []estimator{
		{"Δ filter", kalman.Config{Method: kalman.Delta}, false},
		{"2-D, large Q", kalman.Config{Method: kalman.Joint, LevelDrift: large, CostDrift: large}, true},
		{"2-D", kalman.Config{Method: kalman.Joint}, true},
		{"dual, as in the thesis", kalman.Config{Method: kalman.Naive}, true},
		{"dual, centred (default)", kalman.Config{Method: kalman.Centred}, true},
	}
}

// estimated is what an estimator said of the cpu channel, second by second.
type estimated struct {
	estimator
	at, cost, capacity []float64
}

// bursts is figure 4.11.
func bursts(ctx context.Context, p Params) (Result, error) {
	var all []estimated
	var pods []Point
	for _, e := range estimators() {
		run, n, err := estimate(ctx, p.Seed, e)
		if err != nil {
			return Result{}, err
		}
		all, pods = append(all, run), n
	}
	result := Result{Source: Simulated(p.Seed, fmt.Sprintf("a node of %d cores; bursts of 1 to %d pods of one thread every %g s, 4 to 12 core-seconds each", burstCores, burstMost, burstEvery))}
	x := Axis{Label: "seconds", Min: 0, Max: burstEnd}
	cost := Panel{Title: "cost of a pod, share of cpu", X: x, Y: Axis{Label: "share", Min: 0, Max: .18}}
	level := Panel{Title: "capacity at no pods, share of cpu", X: x, Y: Axis{Label: "share", Min: .6, Max: 1.4}}
	for _, e := range all {
		cost.Series = append(cost.Series, Series{Name: e.name, Points: line(e.at, e.cost)})
		if e.level {
			level.Series = append(level.Series, Series{Name: e.name, Points: line(e.at, e.capacity)})
		}
	}
	truth := []Point{{X: 0, Y: burstCost}, {X: burstEnd, Y: burstCost}}
	cost.Series = append(cost.Series, Series{Name: "truth below 8 pods", Style: Dashed, Points: truth})
	result.Panels = []Panel{cost, level,
		{Title: "pods that run", X: x, Y: Axis{Label: "pods", Whole: true}, Series: []Series{{Name: "pods", Style: Steps, Points: pods}}}}
	result.judgeEstimators(all)
	return result, nil
}

// judgeEstimators compares errors and unrest over the last two thirds.
func (r *Result) judgeEstimators(all []estimated) {
	type mark struct{ wrong, unrest, level float64 }
	var marks []mark
	for _, e := range all {
		var m mark
		n := 0.
		for i := 1; i < len(e.at); i++ {
			if e.at[i] < burstEnd/3 {
				continue
			}
			n++
			m.wrong += math.Abs(e.cost[i]/burstCost - 1)
			m.unrest += math.Abs(e.cost[i]-e.cost[i-1]) / burstCost
			m.level += math.Abs(e.capacity[i] - idleCapacity)
		}
		m.wrong, m.unrest, m.level = m.wrong/n, m.unrest/n, m.level/n
		marks = append(marks, m)
		name := metricName(e.name)
		r.Values = append(r.Values, Value{name + "_cost_error", m.wrong, "1"}, Value{name + "_unrest", m.unrest, "1/s"})
		r.Measured += fmt.Sprintf("%s: the cost is off by %.0f %% and moves by %.1f %% a second", e.name, 100*m.wrong, 100*m.unrest)
		if e.level {
			r.Values = append(r.Values, Value{name + "_capacity_error", m.level, "1"})
			r.Measured += fmt.Sprintf(", the capacity is off by %.2f", m.level)
		}
		r.Measured += ". "
	}
	large, plain, naive, centred := marks[1], marks[2], marks[3], marks[4]
	r.Measured = "Means after the first third, of the cost a pod has while no thread waits. " + r.Measured
	switch {
	case naive.unrest < large.unrest && naive.wrong < plain.wrong:
		r.Verdict = Holds
	case centred.unrest < large.unrest:
		r.Verdict = Partly
	default:
		r.Verdict = Fails
	}
}

// idleCapacity is the headroom of the node without pods: all but its daemons'.
const idleCapacity = 1 - .03/(2*burstCores)

// estimate runs the node under an agent with the estimator. Equal seeds give
// equal loads, whatever the estimator.
func estimate(ctx context.Context, seed uint64, e estimator) (estimated, []Point, error) {
	h, err := newHost(node.Params{Cores: burstCores, Seed: seed}, "node", func(c *agent.Config) { c.Estimator = e.config })
	if err != nil {
		return estimated{}, nil, err
	}
	if err := bindBursts(h.model, seed); err != nil {
		return estimated{}, nil, err
	}
	out := estimated{estimator: e}
	var pods []Point
	for step := 1; float64(step)*sampling <= burstEnd; step++ {
		now := float64(step) * sampling
		if err := h.sample(now, nil); err != nil {
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
		pods = append(pods, Point{X: now, Y: float64(w.Pods)})
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
