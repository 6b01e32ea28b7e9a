package testbeds

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// job is what a job of the demo does: its pod works at so many cores until it has had its
// CPU time.
type job struct {
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
func drawJobs(each int, mean time.Duration, seed uint64) []job {
	rng := rand.New(rand.NewPCG(seed, 0))
	var jobs []job
	for _, kind := range []struct {
		name  string
		cores float64
	}{{"busy", busy}, {"quiet", quiet}} {
		for i := range each {
			seconds := mean.Seconds() * (.95 + .1*rng.Float64())
			jobs = append(jobs, job{fmt.Sprintf("%s-%d", kind.name, i+1), kind.cores, seconds * kind.cores})
		}
	}
	return jobs
}

// model is the time that a plan takes on nodes of package sim/node, each pair on one of its
// own: from the start of the first job to the end of the last, in seconds.
func model(params node.Params, jobs []job, pairs []colocate.Pair) (float64, error) {
	longest := 0.0
	for _, pair := range pairs {
		m, err := node.New(params)
		if err != nil {
			return 0, err
		}
		left := 0
		for i, j := range jobs {
			if j.Name != pair.A && j.Name != pair.B {
				continue
			}
			if err := m.Bind(0, node.Pod{ID: node.PodID(i + 1), Work: j.CPUSeconds, Cores: j.Cores}); err != nil {
				return 0, err
			}
			left++
		}
		for left > 0 {
			at, ok := m.NextChange()
			if !ok {
				return 0, fmt.Errorf("the jobs %s and %s do not end", pair.A, pair.B)
			}
			for _, t := range m.AdvanceTo(nil, at) {
				if t.Phase == node.Succeeded {
					longest = max(longest, t.At)
					left--
				}
			}
		}
	}
	return longest, nil
}

// pairings calls visit with each way to put the jobs into pairs; their number is even.
func pairings(jobs []job, visit func([]colocate.Pair) error) error {
	return extend(jobs, nil, visit)
}

func extend(left []job, pairs []colocate.Pair, visit func([]colocate.Pair) error) error {
	if len(left) == 0 {
		return visit(pairs)
	}
	for i := 1; i < len(left); i++ {
		rest := append(append([]job(nil), left[1:i]...), left[i+1:]...)
		pair := colocate.Pair{A: left[0].Name, B: left[i].Name}
		if err := extend(rest, append(pairs[:len(pairs):len(pairs)], pair), visit); err != nil {
			return err
		}
	}
	return nil
}

// compare says what a plan, the greedy one and all pairings take by the model.
func compare(params node.Params, jobs []job, plan, greedy []colocate.Pair) (Makespan, error) {
	var m Makespan
	var err error
	if m.PlanModelled, err = model(params, jobs, plan); err != nil {
		return m, err
	}
	if m.Greedy, err = model(params, jobs, greedy); err != nil {
		return m, err
	}
	sum := 0.0
	err = pairings(jobs, func(pairs []colocate.Pair) error {
		takes, err := model(params, jobs, pairs)
		if m.Pairings == 0 || takes < m.Best {
			m.Best = takes
		}
		m.Worst = max(m.Worst, takes)
		sum += takes
		m.Pairings++
		return err
	})
	m.MeanOfPairings = sum / float64(m.Pairings)
	return m, err
}
