package sim

import (
	"cmp"
	"math"
	"slices"
)

// LowerBound computes what no scheduler can beat on the pods with the cluster's
// cores, in seconds: the makespan, from the first creation to the last end, and the
// mean sojourn, from creation to the end. Other metrics have no bound that says
// anything. A background, servers and memory only make it looser. With r the time at
// which a pod can begin to run at the earliest, after its creation, its start-up
// and its init containers, w its work, s its run time alone and C the cores:
//
//   - the last end is no earlier than any r + s, nor than any t + Σw/C over the pods
//     of r ≥ t;
//   - the mean sojourn is no less than that of r + s for every pod, nor than on one
//     server of the speed C that serves the pod with least work left first, with
//     preemption, which is optimal there (Schrage, Operations Research 16, 1968); that
//     server ignores that a pod takes so many cores and no more.
func LowerBound(c Config, pods []Pod) (makespan, meanSojourn float64, err error) {
	if c, err = checked(c, pods); err != nil {
		return 0, 0, err
	}
	var jobs []job
	first, alone, created := math.Inf(1), 0., 0.
	for _, p := range pods {
		if p.Server.Rate > 0 {
			continue
		}
		j := job{ready: p.ready(c.Warmup), work: p.work()}
		jobs = append(jobs, j)
		first = math.Min(first, p.Created)
		created += p.Created
		alone += j.ready + p.Solo()
	}
	if len(jobs) == 0 {
		return 0, 0, nil
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
	return last - first, (ends - created) / float64(len(jobs)), nil
}

// job is a pod's work and when it can begin.
type job struct{ ready, work float64 }

func (j job) compare(other job) int { return cmp.Compare(j.ready, other.ready) }

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
	var left heap[work]
	sum, now := 0., 0.
	for i := 0; i < len(jobs) || len(left) > 0; {
		if len(left) == 0 {
			now = jobs[i].ready
		}
		for i < len(jobs) && jobs[i].ready <= now {
			left.push(work(jobs[i].work))
			i++
		}
		end := now + float64(left[0])/speed
		if i < len(jobs) && jobs[i].ready < end {
			left[0] -= work((jobs[i].ready - now) * speed) // still the least
			now = jobs[i].ready
			continue
		}
		left.pop()
		now = end
		sum += now
	}
	return sum
}

// work is core-seconds that are left.
type work float64

func (w work) before(v work) bool { return w < v }
