package sim

import (
	"math"
	"slices"
)

// Omniscient is no scheduler but a bound: one queue in front of all cores of the
// cluster, that knows each pod's work. A pod is ready when it has been created
// and its start-up latency is over; after that any free core takes it at once,
// and nothing else takes time: no scheduling, no container start, no daemons, no
// memory. Pods that use less than a core leave the rest to others.
type Omniscient struct {
	// Shortest serves the pod with least work left first, with preemption,
	// which is what mixed sizes want; else pods are served in the order in which
	// they are ready.
	Shortest bool
}

func (Omniscient) build(*cluster) (policy, error) { return nil, nil }

type job struct {
	pod         int
	ready, left float64
}

// centralQueue runs the bound: at each arrival and end, the first pods of the
// order that fit get the cores.
func centralQueue(c Config, pods []Pod) Result {
	shortest := c.Scheduler.(Omniscient).Shortest
	r := Result{
		Records: make([]Record, len(pods)), Pods: pods,
		Cores: float64(c.Nodes * c.Node.Cores), Nodes: c.Nodes,
	}
	var todo []job
	for i, p := range pods {
		r.Records[i] = Record{Node: -1, Bound: -1, Running: -1, Done: -1}
		if p.Server.Rate == 0 {
			todo = append(todo, job{i, p.Created + p.Startup, p.Solo()})
		}
	}
	slices.SortStableFunc(todo, func(a, b job) int {
		switch {
		case a.ready < b.ready:
			return -1
		case a.ready > b.ready:
			return 1
		}
		return 0
	})
	var queue []job // in the order of service
	for now := 0.; len(todo) > 0 || len(queue) > 0; {
		busy := serve(queue, r.Cores, pods, r.Records, now)
		next := math.Inf(1)
		for i, on := range busy {
			if on {
				next = math.Min(next, now+queue[i].left)
			}
		}
		if len(todo) > 0 {
			next = math.Min(next, math.Max(todo[0].ready, now))
		}
		kept := queue[:0]
		for i, j := range queue {
			if busy[i] {
				j.left -= next - now
			}
			if busy[i] && j.left <= 1e-9 {
				r.Records[j.pod].Done = next
			} else {
				kept = append(kept, j)
			}
		}
		queue, now = kept, next
		for len(todo) > 0 && todo[0].ready <= now {
			at := len(queue)
			if shortest {
				at, _ = slices.BinarySearchFunc(queue, todo[0], func(a, b job) int {
					if a.left <= b.left {
						return -1
					}
					return 1
				})
			}
			queue = slices.Insert(queue, at, todo[0])
			todo = todo[1:]
		}
	}
	for _, record := range r.Records {
		r.End = math.Max(r.End, record.Done)
	}
	return r
}

// serve marks the pods that run now, in order of service.
func serve(queue []job, cores float64, pods []Pod, records []Record, now float64) []bool {
	busy := make([]bool, len(queue))
	for i, j := range queue {
		want := pods[j.pod].Cores
		if want == 0 {
			want = 1
		}
		if want > cores+1e-9 {
			break
		}
		cores -= want
		busy[i] = true
		if records[j.pod].Running < 0 {
			records[j.pod].Running = now
		}
	}
	return busy
}
