package sim

import (
	"strconv"

	"github.com/spazio-scheduler/spazio/relief"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Disruption is the eviction of a running pod by a descheduler. Its controller makes another one,
// which begins anew. Times are in seconds from the workload's start.
type Disruption struct {
	Pod int
	// Began is when the pod had begun to run, At when it was evicted, and Back when its replacement
	// ran, −1 if it never did.
	Began, At, Back float64
	// Lost is what it had done, in core-seconds.
	Lost float64
}

// evict removes a running pod through the API; it reports whether the pod still ran.
func (s *cluster) evict(pod int32) bool {
	r := &s.records[pod]
	if r.Node < 0 {
		return false
	}
	m := s.nodes[r.Node]
	s.advance(m)
	if r.Node < 0 || r.Running == -1 || r.Done >= 0 {
		return false
	}
	lost, _ := m.model.Progress(node.PodID(pod))
	s.policy.phase(m, node.Transition{At: s.now, Pod: node.PodID(pod), Phase: node.Evicted})
	m.model.Kill(node.PodID(pod))
	m.running--
	s.disruptions = append(s.disruptions, Disruption{Pod: int(pod), Began: r.Running, At: s.now - s.Warmup, Back: -1, Lost: lost})
	s.lose(m, pod, s.now+s.Latency)
	s.schedule(m)
	return true
}

// restored notes that a pod runs again.
func (s *cluster) restored(pod int32, at float64) {
	for i := len(s.disruptions) - 1; i >= 0; i-- {
		if d := &s.disruptions[i]; d.Pod == int(pod) {
			if d.Back < 0 {
				d.Back = at
			}
			return
		}
	}
}

// reliefPeriod is the time in seconds between two plans, as in the descheduler.
const reliefPeriod = 10

// startRelief has the descheduler plan from now on.
func (s *spazio) startRelief() {
	options := relief.DefaultOptions()
	options.Rules = s.options.Rules
	planner, err := relief.NewPlanner(options)
	if err != nil {
		s.c.fail(err)
		return
	}
	(&Cluster{s.c}).Every(reliefPeriod, reliefPeriod, func() { s.relieve(planner) })
}

// relieve plans once and evicts.
func (s *spazio) relieve(planner *relief.Planner) {
	nodes := make([]relief.Node, len(s.agents))
	for i := range nodes {
		nodes[i] = s.measuredNode(i)
	}
	now := at(s.c.now)
	allowed := func(pod *relief.Pod, name string) bool {
		target, err := strconv.Atoi(name)
		return err == nil && s.c.fits(s.c.nodes[target], podOf(pod.Key))
	}
	for _, d := range planner.Plan(now, nodes, allowed) {
		if d.Reason == relief.Evict && s.c.evict(podOf(d.Pod.Key)) {
			planner.Evicted(now, d)
		}
	}
}

// measuredNode is what a descheduler knows of a node.
func (s *spazio) measuredNode(i int) relief.Node {
	a, m := &s.agents[i], s.c.nodes[i]
	n := relief.Node{
		Name: strconv.Itoa(i), IsMeasured: a.validity.Fresh(s.now()), Signal: a.signal, Flight: a.account.Flight(),
		TasksWait: a.tasksWait, MemoryPressure: m.pressure,
	}
	for _, pod := range m.assigned {
		r := &s.c.records[pod]
		p := relief.Pod{
			Key: s.c.key(pod), Owner: strconv.Itoa(int(pod)), Created: at(r.Bound + s.c.Warmup),
			Evictable: s.c.pods[pod].Evictable, Demand: s.asks(a, s.classOf(pod)),
		}
		if r.Running != -1 {
			p.Running = at(r.Running + s.c.Warmup)
		}
		n.Pods = append(n.Pods, p)
	}
	return n
}

// disruptionMetrics are the figures of a run in which pods may be evicted by a descheduler:
//
//   - total slowdown: from a pod's first start, or its creation where there was none, to its end, over
//     its run time alone; to the end of the run where its Job gave up or the horizon cut it off, at
//     least 1 and a lower bound then
//   - disruptions, of services too; work lost: their share of all that was done
//   - disrupted again: pods that were evicted twice within ten minutes
//   - server down: the longest time from the eviction of a service's pod to its replacement's start
func disruptionMetrics(r Result) metrics {
	began := map[int]float64{}
	last := map[int]float64{}
	lost, again, down := 0., 0, 0.
	for _, d := range r.Disruptions {
		if _, known := began[d.Pod]; !known {
			began[d.Pod] = d.Began
		}
		if before, known := last[d.Pod]; known && d.At-before < pingPong {
			again++
		}
		last[d.Pod] = d.At
		lost += d.Lost
		if back := d.Back; r.Pods[d.Pod].Server.Rate > 0 {
			if back < 0 {
				back = r.End
			}
			down = max(down, back-d.At)
		}
	}
	var slowdown []float64
	for i, record := range r.Records {
		p := &r.Pods[i]
		if p.Server.Rate > 0 {
			continue
		}
		first, disrupted := began[i]
		switch {
		case disrupted:
		case record.Running >= 0:
			first = record.Running
		default:
			first = p.Created
		}
		ended := record.Done
		if ended < 0 {
			ended = max(r.End, first+p.Solo())
		}
		slowdown = append(slowdown, (ended-first)/p.Solo())
	}
	var m metrics
	if len(slowdown) > 0 {
		m.quantiles("total_slowdown", "1", slowdown)
	}
	m.add("disruptions", float64(len(r.Disruptions)), "pods")
	m.add("work_lost", lost/max(r.Done, 1e-9), "1")
	m.add("disrupted_again", float64(again), "pods")
	m.add("server_down", down, "s")
	return m
}

// pingPong is the time in seconds within which a pod should not be evicted twice.
const pingPong = 600
