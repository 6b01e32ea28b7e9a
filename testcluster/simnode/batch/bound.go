package batch

import (
	"slices"
	"time"
)

// LeastSojourn returns the least mean time, in seconds, in which any scheduler could have
// done works of one thread each that are all there at the start, on so many cores: the
// shortest first, each alone on a core. A figure below it was measured wrongly. Without
// works or cores it is 0.
func LeastSojourn(tasks []Task, cores int) float64 {
	if len(tasks) == 0 || cores < 1 {
		return 0
	}
	works := make([]time.Duration, len(tasks))
	for i, t := range tasks {
		works[i] = t.Work
	}
	slices.Sort(works)
	free := make([]float64, min(cores, len(works))) // when each core is done
	sum := 0.
	for i, w := range works { // the core that is free first is the next in turn
		core := i % len(free)
		free[core] += w.Seconds()
		sum += free[core]
	}
	return sum / float64(len(works))
}
