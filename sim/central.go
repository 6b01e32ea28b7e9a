package sim

import (
	"math"
	"slices"
)

// CentralQueue is no scheduler that there could be: one queue, first come, first
// served, in front of all cores of the cluster as if they were one machine's. A
// pod's start-up passes while it waits and takes no core; after that it begins as
// soon as its cores are free and all before it have begun. Nothing else takes time:
// no scheduling, no container start, no daemons, no memory. It is what an ideal
// placement of pods that are all alike comes to, but no bound: others may serve the
// short ones first. For one see [LowerBound].
func CentralQueue(c Config, pods []Pod) (Result, error) {
	c, err := checked(c, pods)
	if err != nil {
		return Result{}, err
	}
	r := Result{Records: make([]Record, len(pods)), Pods: pods, Cores: c.cores(), Nodes: c.Nodes}
	var order []int
	for i, p := range pods {
		r.Records[i] = Record{Node: -1, Bound: -1, Running: -1, Done: -1}
		if p.Server.Rate == 0 {
			order = append(order, i)
		}
	}
	ready := func(i int) float64 { return pods[i].ready(c.Warmup) }
	slices.SortStableFunc(order, func(a, b int) int {
		return job{ready: ready(a)}.compare(job{ready: ready(b)})
	})
	var running agenda
	now, free := math.Inf(-1), r.Cores
	for _, i := range order {
		width := math.Min(pods[i].width(), r.Cores)
		now = math.Max(now, ready(i))
		// What is over by now is free, and what has to be over for this one.
		for len(running.heap) > 0 && (running.heap[0].at <= now || free < width-1e-9) {
			e := running.pop()
			now = math.Max(now, e.at)
			free += math.Min(pods[e.pod].width(), r.Cores)
		}
		free -= width
		end := now + pods[i].Work/width
		if len(pods[i].Phases) > 0 {
			end = now + pods[i].Solo()
		}
		r.Records[i].Running, r.Records[i].Done = now, end
		r.Done += pods[i].work()
		r.End = math.Max(r.End, end)
		running.add(event{at: end, pod: int32(i)})
	}
	return r, nil
}
