package connection

import (
	"slices"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// Application is a set of jobs that work together. It is a plain value, safe for
// concurrent reading.
type Application struct {
	// Name is that of the label, else of the job that is first by name.
	Name string
	Jobs []Job
}

// leastShare is the share of its caller's bytes from which a call joins two jobs. It keeps
// what a service sends to everybody, such as metrics, from joining all to one application.
const leastShare = .01

// Applications are all there are, of one job too, by their first jobs. Each job is in one.
// label returns the value of a job's label app.kubernetes.io/part-of, or empty: jobs of one
// namespace and label are an application, whatever goes between them. Others are one if
// calls join them.
func (g *Graph) Applications(label func(Job) string) []Application {
	g.mu.RLock()
	defer g.mu.RUnlock()
	type key struct{ namespace, label string }
	labelled := map[key][]Job{}
	var free []Job
	for _, j := range g.sorted() {
		if name := label(j); name != "" {
			k := key{j.Namespace, name}
			labelled[k] = append(labelled[k], j)
		} else {
			free = append(free, j)
		}
	}
	var all []Application
	for k, jobs := range labelled {
		all = append(all, Application{Name: k.label, Jobs: jobs})
	}
	for _, jobs := range g.joined(free) {
		all = append(all, Application{Name: jobs[0].Name, Jobs: jobs})
	}
	slices.SortFunc(all, func(a, b Application) int { return compare(a.Jobs[0], b.Jobs[0]) })
	return all
}

// joined are the sets of jobs that calls join, each sorted by name.
func (g *Graph) joined(of []Job) (sets [][]Job) {
	calls := simple.NewUndirectedGraph()
	index := make(map[Job]int64, len(of))
	for i, j := range of {
		index[j] = int64(i)
		calls.AddNode(simple.Node(i))
	}
	for _, from := range of {
		flows := callsOf(from, g.jobs[from])
		all := 0.
		for _, f := range flows {
			all += f.bytes()
		}
		for _, f := range flows {
			if to, known := index[f.To]; known && f.bytes() > 0 && f.bytes() >= leastShare*all {
				calls.SetEdge(simple.Edge{F: simple.Node(index[from]), T: simple.Node(to)})
			}
		}
	}
	for _, nodes := range topo.ConnectedComponents(calls) {
		jobs := make([]Job, len(nodes))
		for i, n := range nodes {
			jobs[i] = of[n.ID()]
		}
		slices.SortFunc(jobs, compare)
		sets = append(sets, jobs)
	}
	return sets
}
