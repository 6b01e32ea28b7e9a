package experiment

import (
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// unrelieved is Spazio without its descheduler, what the experiment relief compares it with.
const unrelieved = "spazio-no-relief"

// relieving are the schedulers of the experiment on relief: all place as Spazio does, and differ in who
// evicts.
var relieving = []namedScheduler{
	{unrelieved, "Spazio without its descheduler", func(p Params) sim.Scheduler { return withoutRelief(p) }},
	{"low-node-load", "the same, with Koordinator's LowNodeLoad", func(p Params) sim.Scheduler {
		return sim.LowNodeLoad{Spazio: withoutRelief(p)}
	}},
	{"low-node-utilization", "Spazio's placement, with LowNodeUtilization on a Prometheus query", func(p Params) sim.Scheduler {
		return sim.LowNodeUtilization{Spazio: withoutRelief(p)}
	}},
}

func withoutRelief(p Params) sim.Spazio {
	p.spazio.Relief = false
	return p.spazio
}

// relief is the experiment on load that changes after placement.
var relief = Experiment{
	Name: "relief", Title: "Load that grows after placement",
	Question: "Jobs of one, two and four cores arrive beside services, and after a third of the time something else loads a third of the nodes with tasks: what does it bring, and cost, to evict pods from there?",
	defaults: Params{
		Duration: 3600, law: workload.Equal, mixed: true,
		spazio: sim.Spazio{Profiles: sim.Profiles{On: true}, Relief: true},
	},
	partial: true, chosen: true, schedulers: append([]string{Spazio}, namesOf(relieving, func(s namedScheduler) string { return s.Name })...),
	sweep: Sweep{Work: []float64{900}, Load: []float64{1}, Fleet: []string{"19x4", "5x16"}},
	build: growing,
}

const (
	// jobsShare is what jobs take of the cores in the mean.
	jobsShare = .5
	// reliefCoresPerService is how many cores there are for each service, of a quarter of a core.
	reliefCoresPerService = 8
	streamWidths          = 107
)

// jobWidths are the cores of the jobs, each as frequent.
var jobWidths = []float64{1, 2, 4}

// growing are jobs and services on nodes of which every third is loaded with so many tasks a core that
// are no pods from a third of the experiment's time on.
func growing(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
	c := p.cluster()
	mean := 0.
	for _, width := range jobWidths {
		mean += width / float64(len(jobWidths))
	}
	pods, err := workload.Poisson(seed, jobsShare/mean, p.cores(), p.work, p.Duration, p.law)
	if err != nil {
		return c, nil, err
	}
	widths := rand.New(rand.NewPCG(seed, streamWidths))
	for i := range pods {
		kind := widths.IntN(len(jobWidths))
		pods[i].Cores = jobWidths[kind]
		pods[i].Work *= pods[i].Cores
		pods[i].Workload = []string{"narrow", "medium", "wide"}[kind]
		pods[i].Evictable = true
	}
	services := make([]sim.Pod, int(p.cores()/reliefCoresPerService))
	for i := range services {
		services[i] = sim.Pod{Server: node.Server{Rate: 20, Work: .0125}, Evictable: true}
	}
	for i, cores := range p.each() {
		s := sim.Series{Step: c.Warmup + p.Duration/3, Cores: []float64{0}}
		if i%3 == 0 {
			s.Cores = append(s.Cores, p.load*float64(cores))
		}
		c.Background = append(c.Background, s)
	}
	return c, append(pods, workload.StartUp(seed, services)...), nil
}

// reliefTargets are what relief should reach.
var reliefTargets = []target{
	{in("relief"), "total_slowdown_p99", ratioToUnrelieved, false, .7},
	{in("relief"), "work_lost", itself, false, .05},
	{in("relief"), "disrupted_again", itself, false, 0},
}
