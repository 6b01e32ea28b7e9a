package sim

import (
	"math"
	"slices"
)

// Metric is one figure of a run.
type Metric struct {
	Name  string
	Value float64
	Unit  string
}

// Summarise computes the figures of a run; those that do not apply to it are
// left out.
//
//   - makespan: from the first creation to the last end
//   - useful share: core-seconds of pods' work, without what kills have lost,
//     over the makespan times the cores: one window for every scheduler
//   - run: from running to done, of the last attempt, of pods that ended; sojourn: from creation,
//     to the end of the run where the pod's Job gave up or the horizon cut it off, a lower bound
//     then; mean, p50, p95 and p99
//   - sojourn work mean: the mean sojourn where each pod counts by its core-seconds; sojourn
//     owner mean: the mean of the means of owners' pods, where there are several owners
//   - slowdown: run time over that alone on a node, and its Jain index
//   - owner jain: Jain's index over owners of what their pods' sojourns add up to, over the
//     same of the pods alone on a node
//   - resident slowdown: the same of the pods that are on nodes from the start
//   - wait: the longest time from a pod's creation to its last bind, or to the end of the run if it
//     waits then, a lower bound
//   - unfinished: pods that the horizon cut off, which have no run and no slowdown; gave up: those
//     whose Job did
//   - kills, evictions: by the kernel, and by kubelets, which refuse some pods at once; lost
//     work: the core-seconds that pods had done until then
//   - least share: the pods that the node with fewest ran, over the mean of all
//   - most pods a core: pods running on a node at once, over its cores
//   - cpu wait, memory overload: node-seconds in which a thread waited for a
//     core, and in which pods asked for more memory than there is
//   - utilisation: busy share of the cores over the whole run
//   - wait of the largest tenth: from the creation of those pods to their last bind, in
//     the mean, where workloads are named; the larger share of the cluster's cores or
//     memory is a pod's size
//   - profiled: the share of the pods that were bound at what their workload was known
//     to take; cpu and memory ratio: what these took over what was expected of them, as
//     far as there was confidence, p10, p50 and p90
//   - server: mean and p99 of response times; unserved: requests to services without a ready
//     pod; failed: those that ended without a response, with their pod or with the run; p99 offered:
//     the p99 of all, where these two took as long as the run
//   - where a descheduler may evict pods, what follows from it ([Disruption])
//   - energy, where the nodes' power is modelled: all that they took from the workload's
//     start to its end, in kJ; energy dynamic what of it load has caused, energy if empty
//     slept what it were if a node without pods took nothing; energy pod all of it over
//     the pods that ended or gave up, and edp it times the mean sojourn
func Summarise(r Result) []Metric {
	var run, sojourn, unfinished, slowdown, resident []float64
	owners := sojourns{}
	kills, evictions, gaveUp, first, wait := 0, 0, 0, math.Inf(1), math.Inf(-1)
	for i, record := range r.Records {
		p := r.Pods[i]
		if p.Server.Rate > 0 {
			continue
		}
		first = math.Min(first, p.Created)
		kills += record.Kills
		evictions += record.Evictions
		switch {
		case p.On > 0 || record.GaveUp:
		case record.Bound >= 0:
			wait = math.Max(wait, record.Bound-p.Created)
		default:
			wait = math.Max(wait, r.End-p.Created)
		}
		if record.Done < 0 {
			sojourned := max(r.End-p.Created, 0)
			owners.add(p, sojourned)
			if record.GaveUp {
				gaveUp++
				sojourn = append(sojourn, sojourned)
			} else {
				unfinished = append(unfinished, sojourned)
			}
			continue
		}
		sojourn = append(sojourn, record.Done-p.Created)
		owners.add(p, record.Done-p.Created)
		run = append(run, record.Done-record.Running)
		slowdown = append(slowdown, (record.Done-record.Running)/p.Solo())
		if p.On > 0 {
			resident = append(resident, slowdown[len(slowdown)-1])
		}
	}
	var m metrics
	if sojourn := slices.Concat(sojourn, unfinished); len(sojourn) > 0 {
		m.add("useful_share", (r.Done-r.Lost)/((r.End-first)*r.Cores), "1")
		m.add("makespan", r.End-first, "s")
		m.quantiles("sojourn", "s", sojourn)
		owners.report(&m)
	}
	if len(run) > 0 {
		m.quantiles("run", "s", run)
		m.quantiles("slowdown", "1", slowdown)
		m.add("slowdown_jain", jain(slowdown), "1")
	}
	if len(resident) > 0 {
		m.quantiles("resident_slowdown", "1", resident)
	}
	if r.Span > 0 && wait >= 0 {
		m.add("wait_max", wait, "s")
	}
	m.add("unfinished", float64(len(unfinished)), "pods")
	m.add("gave_up", float64(gaveUp), "pods")
	if r.Span > 0 {
		m.add("least_share", leastShare(r), "1")
		m.add("kills", float64(kills), "pods")
		m.add("evictions", float64(evictions), "pods")
		m.add("lost_work", r.Lost, "core s")
		m.add("most_pods_per_core", r.MostPerCore, "pods")
		m.add("cpu_wait", r.Waited, "node s")
		m.add("memory_overload", r.Overcommitted, "node s")
		m.add("utilisation", r.Busy/(r.Span*r.Cores), "1")
	}
	m = append(m, demands(r)...)
	if slices.ContainsFunc(r.Pods, func(p Pod) bool { return p.Evictable }) {
		m = append(m, disruptionMetrics(r)...)
	}
	if r.Energy.Joules > 0 {
		m.energy(r.Energy, len(sojourn), slices.Concat(sojourn, unfinished))
	}
	if len(r.Responses) > 0 {
		m.quantiles("server", "s", r.Responses)
	}
	if len(r.Responses) > 0 || r.Unserved > 0 || r.Failed > 0 {
		m.add("server_p99_offered", offeredP99(r), "s")
		m.add("server_unserved", r.Unserved, "requests")
		m.add("server_failed", float64(r.Failed), "requests")
	}
	return m
}

func offeredP99(r Result) float64 {
	sorted := slices.Clone(r.Responses)
	slices.Sort(sorted)
	rank := int(math.Ceil(.99 * (float64(len(sorted)+r.Failed) + math.Round(r.Unserved))))
	if rank > len(sorted) {
		return r.End
	}
	return sorted[max(rank, 1)-1]
}

type metrics []Metric

func (m *metrics) add(name string, value float64, unit string) {
	*m = append(*m, Metric{name, value, unit})
}

func (m *metrics) quantiles(name, unit string, values []float64) {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	sum := 0.
	for _, v := range sorted {
		sum += v
	}
	m.add(name+"_mean", sum/float64(len(sorted)), unit)
	for _, q := range []struct {
		name string
		p    float64
	}{{"_p50", .5}, {"_p95", .95}, {"_p99", .99}} {
		m.add(name+q.name, nearestRank(sorted, q.p), unit)
	}
}

// jain is the fairness index (Σx)²/(n·Σx²), 1 where all are equal.
func jain(x []float64) float64 {
	sum, squares := 0., 0.
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(x)) * squares)
}

// leastShare is 0 where a node was left out.
func leastShare(r Result) float64 {
	ran, all := make([]int, r.Nodes), 0
	for i, record := range r.Records {
		if record.Node >= 0 && r.Pods[i].Server.Rate == 0 {
			ran[record.Node]++
			all++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(slices.Min(ran)) * float64(r.Nodes) / float64(all)
}
