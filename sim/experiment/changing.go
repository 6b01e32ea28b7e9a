package experiment

import (
	"io/fs"
	"sync"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// changing are what the experiments on demand that changes compare.
var changing = []string{Spazio, pooled, shortestFirst, Default, requestsRight, RequestsP98, "load-aware", lowerBound}

var traces = Experiment{
	Name: "traces", Title: "Arrivals as in public traces",
	Question:      "Pods arrive as in Alibaba's batch jobs of 2018, as in its Kubernetes cluster of 2023, and of forty owners with a load that rises and falls, and declare nothing or what the trace has them declare: who does best where lives and sizes have heavy tails and plans are wrong?",
	OptionalTrace: "a directory with folders " + workload.Alibaba2018 + " and " + workload.OpenB2023 + " of the public files",
	defaults:      Params{Duration: 900, mixed: true, spazio: counting}, schedulers: changing, chosen: true,
	sweep: Sweep{
		mix: workload.Traces(), Load: []float64{.9}, Fleet: on19,
		Requests: []workload.Requests{workload.RequestNone, workload.RequestPlanned},
	},
	build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
		trace, err := p.recordings.pods(p.mix)
		if err != nil {
			return sim.Config{}, nil, err
		}
		pods, err := workload.Replay(seed, trace(seed, p.half()), p.half(), p.load, p.cores(), p.Duration)
		if err != nil || p.requests == workload.RequestPlanned {
			return p.cluster(), pods, err
		}
		for i := range pods {
			pods[i].Request = sim.Pod{}.Request
		}
		pods, err = workload.Declare(seed, pods, p.requests, p.largest())
		return p.cluster(), pods, err
	},
}

// readPods has the traces of pods read or generated, each once.
func readPods(dir fs.FS) func(name string) (workload.Trace, error) {
	read := map[string]func() (workload.Trace, error){}
	for _, name := range workload.Traces() {
		read[name] = sync.OnceValues(func() (workload.Trace, error) {
			if dir == nil || name == workload.ZipfOwners {
				return workload.Generate(name)
			}
			folder, err := fs.Sub(dir, name)
			if err != nil {
				return nil, err
			}
			return workload.ReadTrace(name, folder)
		})
	}
	return func(name string) (workload.Trace, error) { return read[name]() }
}

// coresPerService is on how many cores there is a service.
const coresPerService = 6

var services = Experiment{
	Name: "services", Title: "Services that the scheduler places, beside arrivals, for a day",
	Question: "Services with a daily load, which an autoscaler grows and shrinks, share nodes with pods of two minutes that take so much of the cores: how many cores do these get while the p99 of the services' responses is at most 1.2 times that alone?",
	defaults: Params{Duration: 86_400, law: workload.Exponential, mixed: true, spazio: counting}, partial: true, idle: true,
	schedulers: []string{Spazio, pooled, Default, RequestsP98}, chosen: true,
	sweep: Sweep{
		Work: []float64{120}, Load: []float64{.3, .5, .7}, Fleet: []string{"5x4"},
		Requests: []workload.Requests{workload.RequestNone, workload.RequestServers},
	},
	build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
		c, pods, err := arrivalsOf(p, seed)
		if err != nil {
			return c, nil, err
		}
		name(pods, "batch")
		all, servers, err := workload.Services(seed, max(1, int(p.cores()/coresPerService)), p.Duration)
		if err != nil {
			return c, nil, err
		}
		pods = append(append(pods, servers...), sim.Pod{Created: p.Duration, Work: .001, Workload: "batch"})
		c.Services, c.Horizon = all, p.Duration+60
		pods, err = workload.Declare(seed, pods, p.requests, p.largest())
		return c, pods, err
	},
}

var phased = Experiment{
	Name: "phases", Title: "A batch whose pods change",
	Question: "Eight pods a core of twelve owners start up, work, pause and work again, each time with another share of cores and memory, some with garbage that a collector frees: what is a reading worth that is soon another?",
	defaults: Params{mixed: true, spazio: counting}, perCore: 8, schedulers: changing, chosen: true,
	sweep: Sweep{Fleet: []string{small, large}},
	build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
		pods, err := workload.Phased(seed, p.Pods, memorySized)
		return p.cluster(), pods, err
	},
}
