package sim

import (
	"math"
	"slices"
)

// Bound is what no scheduler can fall below, in seconds. Other metrics have no bound
// that says anything.
type Bound struct {
	// Makespan is from the first creation to the last end.
	Makespan float64
	// MeanSojourn is from creation to the end.
	MeanSojourn float64
}

// LowerBound computes what no scheduler can beat on the pods with the cluster's
// cores; a background, servers and memory only make it looser. With r the time at
// which a pod can begin to run at the earliest, after its creation, its start-up
// and its init containers, w its work, s its run time alone and C the cores:
//
//   - the last end is no earlier than any r + s, nor than any t + Σw/C over the pods
//     of r ≥ t;
//   - the mean sojourn is no less than that of r + s for every pod, nor than on one
//     server of the speed C that serves the pod with least work left first, with
//     preemption, which is optimal there (Schrage, Operations Research 16, 1968); that
//     server ignores that a pod takes so many cores and no more.
func LowerBound(c Config, pods []Pod) (Bound, error) {
	c, err := checked(c, pods)
	if err != nil {
		return Bound{}, err
	}
	var jobs []job
	first, alone, created := math.Inf(1), 0., 0.
	for _, p := range pods {
		if p.Server.Rate > 0 {
			continue
		}
		j := job{ready: p.ready(c.Warmup), work: p.Work}
		jobs = append(jobs, j)
		first = math.Min(first, p.Created)
		created += p.Created
		alone += j.ready + p.Solo()
	}
	if len(jobs) == 0 {
		return Bound{}, nil
	}
	slices.SortStableFunc(jobs, job.compare)
	last, left := 0., 0.
	for _, j := range slices.Backward(jobs) {
		left += j.work
		last = math.Max(last, j.ready+left/c.cores())
	}
	for _, p := range pods {
		if p.Server.Rate == 0 {
			last = math.Max(last, p.ready(c.Warmup)+p.Solo())
		}
	}
	ends := math.Max(alone, shortestFirst(jobs, c.cores()))
	return Bound{Makespan: last - first, MeanSojourn: (ends - created) / float64(len(jobs))}, nil
}

// cores of the cluster.
func (c Config) cores() float64 { return float64(c.Nodes * c.Node.Cores) }

// job is a pod's work and when it can begin.
type job struct{ ready, work float64 }

func (j job) compare(other job) int {
	switch {
	case j.ready < other.ready:
		return -1
	case j.ready > other.ready:
		return 1
	}
	return 0
}

// ready is the earliest time at which the pod can run.
func (p Pod) ready(warmup float64) float64 {
	created := p.Created
	if p.On > 0 {
		created = -warmup // it is there from the start
	}
	return created + p.Startup + float64(p.Init.Containers)*(p.Init.Seconds+p.Init.Gap)
}

// shortestFirst is the sum of the times at which the jobs, in order of their
// readiness, end on one server of the given speed that always serves the one with
// least work left.
func shortestFirst(jobs []job, speed float64) float64 {
	var left least
	sum, now := 0., 0.
	for i := 0; i < len(jobs) || len(left) > 0; {
		if len(left) == 0 {
			now = jobs[i].ready
		}
		for i < len(jobs) && jobs[i].ready <= now {
			left.push(jobs[i].work)
			i++
		}
		end := now + left[0]/speed
		if i < len(jobs) && jobs[i].ready < end {
			left.lower(left[0] - (jobs[i].ready-now)*speed)
			now = jobs[i].ready
			continue
		}
		left.pop()
		now = end
		sum += now
	}
	return sum
}

// least is a heap of numbers, the least first.
type least []float64

func (l *least) push(v float64) {
	*l = append(*l, v)
	h := *l
	i := len(h) - 1
	for ; i > 0 && h[(i-1)/2] > v; i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = v
}

// pop takes the least away.
func (l *least) pop() float64 {
	h := *l
	out, last := h[0], h[len(h)-1]
	*l = h[:len(h)-1]
	if len(*l) > 0 {
		l.sink(last)
	}
	return out
}

// lower replaces the least by a number that is no larger.
func (l *least) lower(v float64) { (*l)[0] = v }

// sink puts v in the place of the least and where it belongs.
func (l *least) sink(v float64) {
	h := *l
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[child] >= v {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = v
}
