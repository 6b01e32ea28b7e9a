package connection

import (
	"maps"
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

// Rule says what makes an application. The zero value is the documented default. It is
// a plain value, safe for concurrent reading.
type Rule struct {
	// Label is the value of a job's label app.kubernetes.io/part-of, or empty; nil means
	// that none has any. Jobs of one namespace and label are an application, whatever
	// goes between them.
	Label func(Job) string
	// Literal takes the strongly connected components of the calls as they are, as the
	// thesis does. Else a call makes an edge each way, if it is at least Least of its
	// caller's bytes; 0 means 1 %.
	Literal bool
	Least   float64
}

// leastShare keeps what a service sends to everybody, such as metrics, from joining
// all to one application.
const leastShare = .01

func (r Rule) validate() error {
	if !(r.Least >= 0) || r.Least > 1 {
		return refuse("Rule.Least", r.Least, "from 0 to 1")
	}
	return nil
}

// FindSCC are the strongly connected components of the graph of calls, the jobs of each
// by name and the components by their first jobs.
func (g *Graph) FindSCC() [][]Job {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.components(g.sorted(), false, 0)
}

// Applications are all there are, of one job too, by their first jobs. Each job is in
// one.
func (g *Graph) Applications(r Rule) ([]Application, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	if r.Least == 0 {
		r.Least = leastShare
	}
	g.mu.RLock()
	jobs := g.sorted()
	labelled, free := r.labels(jobs)
	components := g.components(free, !r.Literal, r.Least)
	g.mu.RUnlock()
	for _, jobs := range components {
		labelled = append(labelled, Application{Name: jobs[0].Name, Jobs: jobs})
	}
	slices.SortFunc(labelled, func(a, b Application) int { return compare(a.Jobs[0], b.Jobs[0]) })
	return labelled, nil
}

// labels distinguishes jobs with a label, as applications, from those without.
func (r Rule) labels(jobs []Job) (labelled []Application, free []Job) {
	type key struct{ namespace, label string }
	of := map[key]*Application{}
	for _, j := range jobs {
		label := ""
		if r.Label != nil {
			label = r.Label(j)
		}
		if label == "" {
			free = append(free, j)
			continue
		}
		k := key{j.Namespace, label}
		if of[k] == nil {
			of[k] = &Application{Name: label}
		}
		of[k].Jobs = append(of[k].Jobs, j)
	}
	for a := range maps.Values(of) {
		labelled = append(labelled, *a)
	}
	return labelled, free
}

// components are the strongly connected ones of the calls between some jobs, sorted by
// name; of those calls that are so large a share of their caller's, in both directions.
func (g *Graph) components(of []Job, both bool, least float64) [][]Job {
	calls := simple.NewDirectedGraph()
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
			to, known := index[f.To]
			if !known || both && (f.bytes() == 0 || f.bytes() < least*all) {
				continue
			}
			calls.SetEdge(simple.Edge{F: simple.Node(index[from]), T: simple.Node(to)})
			if both {
				calls.SetEdge(simple.Edge{F: simple.Node(to), T: simple.Node(index[from])})
			}
		}
	}
	var components [][]Job
	for _, nodes := range topo.TarjanSCC(calls) {
		jobs := make([]Job, len(nodes))
		for i, n := range nodes {
			jobs[i] = of[n.ID()]
		}
		slices.SortFunc(jobs, compare)
		components = append(components, jobs)
	}
	slices.SortFunc(components, func(a, b []Job) int { return compare(a[0], b[0]) })
	return components
}
