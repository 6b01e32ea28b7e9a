package agent

import (
	"math"

	"github.com/spazio-scheduler/spazio/reserve"
)

// shortLife is the allowance a core from which the CPU that starts take counts, where a
// pod takes a quarter of its life to start: a profile holds what a workload's pods take,
// not what a node does to start and to stop them. On four cores that is any allowance.
const shortLife = .25

// predictedDemand is what was predicted of the CPU of pods that ended, weighted towards recent ones:
// how many had a confidence of at least a half, and the sums of their cores and of the squares of
// these.
type predictedDemand struct {
	Pods, Cores, Squares float64
}

func (t *predictedDemand) fade(left float64) {
	t.Pods *= left
	t.Cores *= left
	t.Squares *= left
}

func (t *predictedDemand) add(r *PodRecord) {
	predicted := r.Demand.CPU
	if predicted.Confidence < .5 {
		return
	}
	cores := min(predicted.Amount, reserve.MaxCores)
	t.Pods++
	t.Cores += cores
	t.Squares += cores * cores
}

// typicalCPU returns how many cores such a pod takes if they take alike, and 0 if they don't, or
// one alone has ended.
func (t *predictedDemand) typicalCPU() float64 {
	if !(t.Pods > 1) {
		return 0
	}
	mean := t.Cores / t.Pods
	if sd := math.Sqrt(max(t.Squares/t.Pods-mean*mean, 0)); sd > reserve.TypicalCPUTolerance*mean {
		return 0
	}
	return mean
}

// livesShort reports whether pods live so short that starts count.
func (p *Pipeline) livesShort() bool {
	a := p.pace.allowance
	return a > 0 && a >= shortLife*p.config.Cores
}

// typicalCPU returns the next report's TypicalCPU.
func (p *Pipeline) typicalCPU() float64 {
	if !p.livesShort() || p.rejection != nil {
		return 0
	}
	return p.pace.predicted.typicalCPU()
}

// takes reports whether the pod takes typical CPU, as far as is known.
func (r *PodRecord) takes(typicalCPU float64) bool {
	predicted := r.Demand.CPU
	return typicalCPU > 0 && (predicted.Confidence == 0 || reserve.IsTypicalCPU(predicted.Amount, typicalCPU))
}
