package demo

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// testbedJob is what a job of the demo does: its pod works at so many cores until it has had its
// CPU time.
type testbedJob struct {
	Name string `json:"name"`
	// Cores are those it takes while nothing holds it up.
	Cores float64 `json:"cores"`
	// CPUSeconds are the CPU time that ends it.
	CPUSeconds float64 `json:"cpuSeconds"`
}

// Cores of a job that is bound by the CPU, and of one that mostly waits.
const (
	busy  = 1
	quiet = .1
)

// drawJobs returns as many jobs that are bound by the CPU as such that mostly wait, none
// like the other: alone each takes about so long.
func drawJobs(each int, mean time.Duration, seed uint64) []testbedJob {
	rng := rand.New(rand.NewPCG(seed, 0))
	var jobs []testbedJob
	for _, kind := range []struct {
		name  string
		cores float64
	}{{"busy", busy}, {"quiet", quiet}} {
		for i := range each {
			seconds := mean.Seconds() * (.95 + .1*rng.Float64())
			jobs = append(jobs, testbedJob{fmt.Sprintf("%s-%d", kind.name, i+1), kind.cores, seconds * kind.cores})
		}
	}
	return jobs
}

// model is a node of package sim/node on which pairs of jobs run.
type model struct {
	params node.Params
	jobs   []testbedJob
}

// seconds is how long a pair takes, until both have ended.
func (m model) seconds(pair colocate.Pair) (float64, error) {
	n, err := node.New(m.params)
	if err != nil {
		return 0, err
	}
	left := 0
	for i, j := range m.jobs {
		if j.Name != pair.A && j.Name != pair.B {
			continue
		}
		if err := n.Bind(0, node.Pod{ID: node.PodID(i + 1), Work: j.CPUSeconds, Cores: j.Cores}); err != nil {
			return 0, err
		}
		left++
	}
	end := 0.0
	for left > 0 {
		at, ok := n.NextChange()
		if !ok {
			return 0, fmt.Errorf("the jobs %s and %s do not end", pair.A, pair.B)
		}
		for _, t := range n.AdvanceTo(nil, at) {
			if t.Phase == node.Succeeded {
				end = t.At
				left--
			}
		}
	}
	return end, nil
}

// compare says what a plan, the greedy one and all pairings take.
func (m model) compare(plan, greedy []colocate.Pair) (makespan makespan, err error) {
	if makespan.PlanModelled, err = colocate.Makespan(plan, m.seconds); err != nil {
		return makespan, err
	}
	if makespan.Greedy, err = colocate.Makespan(greedy, m.seconds); err != nil {
		return makespan, err
	}
	var names []string
	for _, j := range m.jobs {
		names = append(names, j.Name)
	}
	survey, err := colocate.NewSurvey(names, m.seconds)
	makespan.Best, makespan.Worst, makespan.MeanOfPairings, makespan.Pairings = survey.Best, survey.Worst, survey.Mean, survey.Pairings
	return makespan, err
}
