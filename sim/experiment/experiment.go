package experiment

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Params are what experiments share. A zero field takes the experiment's
// default.
type Params struct {
	// Nodes and Cores size a cluster of nodes that are alike, in the place of the
	// experiment's fleets; the other is 19 or 4 where one is set.
	Nodes, Cores int
	// Fleet is the name of the fleet where the nodes are of one: "16x4+2x64" is 16 nodes of
	// 4 cores and two of 64.
	Fleet string
	// Pods is the size of a batch; an experiment has so many a core.
	Pods int
	// work is the pods' mean in core-seconds and law that of their work.
	work float64
	law  workload.Law
	// load is the share of the cores that arrivals take, for Duration seconds.
	load, Duration float64
	// requests is what pods declare.
	requests workload.Requests
	// Overcommit is what nodes do where pods exceed their memory.
	Overcommit node.Overcommit
	// Named gives pods whose workload has no name their experiment's, servers another, so
	// that profiles tell of them.
	Named bool
	// crowding is what pods lose to one another besides their time on the cores.
	crowding node.Crowding
	// Trace is the directory of a trace, for experiments that replay one.
	Trace fs.FS
	// Cluster holds the cluster's delays; its nodes, seed and scheduler are set
	// from the rest.
	Cluster sim.Config
	// Set are assignments to the scheduler Spazio, as "agent.churn-hold=500ms"; Settings
	// lists the names. Labels of cases name them.
	Set []string
	// HeldOut has traces replayed from their second half, which is not for
	// tuning, in place of the first.
	HeldOut bool

	// memory is the share of a mix's pods that press on memory.
	memory float64
	// mix is the experiment whose pods a batch of named workloads has, "memory" or "mixed-io", and
	// belief what is known of workloads from the start.
	mix    string
	belief belief
	// slots is into how many a profiler divides the day, 0 for its default.
	slots int

	recordings *recordings // of Trace, shared by all cases of it
	sizes      []int       // of the fleet
	mixed      bool        // the pods differ in what they take
	spazio     sim.Spazio  // with Set
}

// Sweep lists the values that cases are made of, one a combination. An empty
// list takes the experiment's own.
type Sweep struct {
	Work, Load []float64
	Law        []workload.Law
	Requests   []workload.Requests
	memory     []float64
	mix        []string
	belief     []belief
	slots      []int
	// Fleet lists names of fleets, as Params.Fleet.
	Fleet []string
}

// Experiment is a named comparison.
type Experiment struct {
	// Name is in labels of cases. Title and Question are for a reader.
	Name, Title, Question string
	// alias is the short name that experiments had before, which is still accepted.
	alias string
	// NeedsTrace describes the trace that it replays; empty for none.
	NeedsTrace string
	// OptionalTrace describes the trace that it replays in the place of what is generated.
	OptionalTrace string
	defaults      Params
	perCore       float64 // pods of a batch
	sweep         Sweep
	// partial is set if the pods are a part of the load: the central queue, which
	// has no nodes, would not know of the rest.
	partial bool
	idle    bool
	// schedulers are compared by default; nil means defaultSchedulers. Where they are chosen, all of
	// them answer the question.
	schedulers []string
	chosen     bool
	given      []sim.Pod // by Given
	build      func(p Params, seed uint64) (sim.Config, []sim.Pod, error)
}

// NameError is a name that is not known, and those that are.
type NameError struct {
	kind, name string
	known      []string
}

func (e *NameError) Error() string {
	message := fmt.Sprintf("experiment: no %s %q", e.kind, e.name)
	if len(e.known) > 0 {
		message += "; there are " + strings.Join(e.known, ", ")
	}
	return message
}

// namesOf are the names of what has some.
func namesOf[T any](all []T, name func(T) string) []string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = name(one)
	}
	return names
}

// ErrNoTrace refuses an experiment that replays a trace and was given none (Params.Trace).
var ErrNoTrace = errors.New("experiment: needs a trace")

// Given is an experiment of pods that are given, under every scheduler that experiments compare by
// default: those of a file, for one (workload.ReadPods). Each seed draws their start-up latencies.
func Given(name string, pods []sim.Pod) Experiment {
	return Experiment{
		Name: name, Title: "A workload of its own",
		Question: fmt.Sprintf("%d pods that were given: what becomes of them?", len(pods)),
		defaults: Params{mixed: true}, sweep: Sweep{Fleet: []string{small}}, given: pods,
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			return p.cluster(), workload.StartUp(seed, pods), nil
		},
	}
}

// Experiments lists all but those on findings, in order; see ByGroup.
func Experiments() []Experiment { return slices.Clone(experiments) }

// experimentNames are those of all but those on findings.
func experimentNames() []string {
	return namesOf(slices.Concat(experiments, profiles, energies), Experiment.Known)
}

// Known returns the experiment's name with the short one that is accepted, too: "batch (b1)".
func (e Experiment) Known() string {
	if e.alias == "" {
		return e.Name
	}
	return fmt.Sprintf("%s (%s)", e.Name, e.alias)
}

// ByName finds an experiment by its name or its alias, in letters of any case; the error is a *NameError.
func ByName(name string) (Experiment, error) {
	for _, e := range slices.Concat(experiments, profiles, energies, findings) {
		if strings.EqualFold(e.Name, name) || e.alias != "" && strings.EqualFold(e.alias, name) {
			return e, nil
		}
	}
	return Experiment{}, &NameError{kind: "experiment", name: name, known: experimentNames()}
}

var experiments = []Experiment{
	{
		Name: "batch", alias: "b1", Title: "A batch at once",
		Question: "Thirteen pods a core that declare nothing are created at once: how long do they run and wait, and what is lost on the way?",
		perCore:  batchPerCore,
		sweep:    Sweep{Work: []float64{.1, 1, 10, 60}, Law: workload.Laws(), Fleet: fleetNames()},
		build:    batchOf,
	},
	{
		Name: "arrivals", alias: "b2", Title: "Arrivals at a steady rate",
		Question: "Pods arrive as a Poisson process: does placement by measurements do harm where even spreading is near its best, and good near saturation?",
		defaults: Params{Duration: 300, law: workload.Equal},
		sweep:    Sweep{Work: []float64{1, 10}, Load: []float64{.5, .8, 1, 1.2}, Fleet: []string{small, mixed}},
		build:    arrivalsOf,
	},
	{
		Name: "memory", alias: "b3", Title: "A batch that presses on memory",
		Question: "Of thirteen pods a core half take a core, half a tenth of one and as much memory as 12 % of a node of 4 cores has, within seconds, and none declares anything: who keeps nodes from killing them?",
		defaults: Params{mixed: true}, perCore: batchPerCore,
		sweep: Sweep{Work: []float64{10}, Law: workload.Laws(), Fleet: fleetNames()},
		build: mixture(workload.Mix{}),
	},
	{
		Name: "mixed-io", alias: "b3io", Title: "A batch of CPU, memory and waiting",
		Question: "As memory, but a third each: a core; a tenth of one and memory; a fifth of one and nothing else, as pods that wait for disk or network.",
		defaults: Params{mixed: true}, perCore: batchPerCore,
		sweep: Sweep{Work: []float64{10}, Law: workload.Laws(), Fleet: fleetNames()},
		build: mixture(thirds),
	},
	{
		Name: "unlike", alias: "b4", Title: "A batch of unlike pods",
		Question: "Pods of a quarter of a core, one, four and eight cores, of as many threads, whose memory grows over seconds, and none declares anything: what if pods have little in common?",
		defaults: Params{mixed: true}, perCore: batchPerCore / 2,
		sweep: Sweep{Work: []float64{10}, Law: workload.Laws(), Fleet: fleetNames()},
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			pods, err := workload.Wide(seed, p.Pods, p.work, p.law)
			return p.cluster(), pods, err
		},
	},
	{
		Name: "cache", alias: "b5", Title: "A batch that lives in its caches",
		Question: "As batch, but a pod that takes turns with others finds its caches full of their data, as measured on a real kernel: what does it cost to run all of them at once?",
		defaults: Params{crowding: node.Cached}, perCore: batchPerCore,
		sweep: Sweep{Work: []float64{10}, Law: workload.Laws(), Fleet: fleetNames()},
		build: batchOf,
	},
	{
		Name: "servers", alias: "s1", Title: "Servers beside a batch",
		Question: "One node in three runs a server of 100 requests of 2.5 ms a second: what does a batch around it do to its response times, whether it declares a core or nothing?",
		perCore:  batchPerCore / 2, partial: true, idle: true, schedulers: append(defaultSchedulers(), reserving),
		sweep: Sweep{
			Work: []float64{10}, Law: []workload.Law{workload.Equal}, Fleet: []string{small, mixed},
			Requests: []workload.Requests{workload.RequestNone, workload.RequestServers},
		},
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			pods, err := workload.Batch(seed, p.Pods, p.work, p.law)
			if err != nil {
				return sim.Config{}, nil, err
			}
			pods = append(pods, workload.Servers(p.Nodes, node.Server{Rate: 100, Work: .0025})...)
			pods, err = workload.Declare(seed, pods, p.requests, p.largest())
			return p.cluster(), pods, err
		},
	},
	{
		Name: "overdue", alias: "o1", Title: "Overdue pods",
		Question: "For an hour others take all cores of every node, or twice as many, and a pod a node of ten core-seconds comes a minute later: how long does it wait, and what does it cost those that are there?",
		defaults: Params{Duration: 3600}, partial: true, idle: true,
		sweep: Sweep{Work: []float64{10}, Load: []float64{1, 2}, Fleet: []string{"19x4"}},
		build: crowded,
	},
	{
		Name: "background", alias: "h1", Title: "Background load from traces",
		Question:   "Nodes run loads that no scheduler knows of, replayed ten times as fast from recordings and scaled to 30 % of the cores on average: who finds the room that is left?",
		NeedsTrace: "a directory of CPU utilisation series (.csv of NAB's EC2 files or GWA-T-12 Bitbrains)",
		defaults:   Params{Duration: 600, law: workload.Exponential}, partial: true,
		sweep: Sweep{Work: []float64{10}, Load: []float64{.4, .6}, Fleet: []string{small, mixed}},
		build: hidden,
	},
	{
		Name: "functions", alias: "f1", Title: "Function invocations from a trace",
		Question:   "Invocations of functions, most shorter than their start, arrive as recorded.",
		NeedsTrace: "a directory with invocations.csv, durations.csv and memory.csv of Azure Functions 2019",
		defaults:   Params{Duration: 600, mixed: true},
		sweep:      Sweep{Load: []float64{.1}, Fleet: []string{small}},
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			functions, err := p.recordings.functions()
			if err != nil {
				return sim.Config{}, nil, err
			}
			pods, err := workload.Invocations(seed, workload.HalfOf(functions, p.half()), p.load, p.cores(), p.Duration)
			return p.cluster(), pods, err
		},
	},
	{
		Name: "wrong-requests", alias: "w1", Title: "Wrong requests",
		Question: "Pods of one core arrive as a Poisson process and declare nothing, three cores or a third of one: how much does a scheduler suffer from believing them?",
		defaults: Params{Duration: 600, law: workload.Exponential},
		sweep:    Sweep{Work: []float64{10}, Load: []float64{.6}, Requests: []workload.Requests{workload.RequestMixed}, Fleet: []string{small, mixed}},
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			c, pods, err := arrivalsOf(p, seed)
			if err != nil {
				return c, nil, err
			}
			pods, err = workload.Declare(seed, pods, p.requests, p.largest())
			return c, pods, err
		},
	},
	traces, services, phased, relief,
}

// batchOf builds a batch of pods that are alike.
func batchOf(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
	pods, err := workload.Batch(seed, p.Pods, p.work, p.law)
	return p.cluster(), pods, err
}

// arrivalsOf builds pods that are alike and arrive at a steady rate.
func arrivalsOf(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
	pods, err := workload.Poisson(seed, p.load, p.cores(), p.work, p.Duration, p.law)
	return p.cluster(), pods, err
}

// crowded are pods that take so many times all cores of every node for the span of
// the experiment, and a pod a node that comes when they have run for a sixtieth of it.
func crowded(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
	var pods []sim.Pod
	for n, cores := range p.each() {
		for range int(math.Ceil(p.load * float64(cores))) {
			pods = append(pods, sim.Pod{On: n + 1, Work: p.Duration / max(p.load, 1), Cores: 1})
		}
	}
	late := make([]sim.Pod, p.Nodes)
	for i := range late {
		late[i] = sim.Pod{Created: p.Duration/60 + float64(i)/10, Work: p.work}
	}
	return p.cluster(), append(pods, workload.StartUp(seed, late)...), nil
}

// oneFleet returns the experiment on the first of its fleets.
func (e Experiment) oneFleet() Experiment {
	e.sweep.Fleet = e.sweep.Fleet[:min(1, len(e.sweep.Fleet))]
	return e
}

// fewSchedulers returns the experiment under those of its schedulers that are
// Leading or that defaultSchedulers does not have, or as it is where its question names them.
func (e Experiment) fewSchedulers() Experiment {
	if e.chosen {
		return e
	}
	own := e.schedulers
	if len(own) == 0 {
		own = defaultSchedulers()
	}
	leading, field := Leading(), defaultSchedulers()
	e.schedulers = nil
	for _, name := range own {
		if slices.Contains(leading, name) || !slices.Contains(field, name) {
			e.schedulers = append(e.schedulers, name)
		}
	}
	return e
}

// thirds are of pods that compute, that press on memory and that wait.
var thirds = workload.Mix{MemoryShare: 1. / 3, WaitingShare: 1. / 3}

func mixture(m workload.Mix) func(Params, uint64) (sim.Config, []sim.Pod, error) {
	return func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
		c := p.cluster()
		pods, err := workload.Mixed(seed, p.Pods, p.work, p.law, node.Params{}.WithDefaults().Memory, m)
		return c, pods, err
	}
}

// recordings are a trace, parsed once and only read from then on, by many runs at
// a time.
type recordings struct {
	utilisations func() ([]workload.Utilisation, error)
	functions    func() ([]workload.Function, error)
	pods         func(name string) (workload.Trace, error)
	digest       func() ([sha256.Size]byte, error) // of all files
}

func newRecordings(trace fs.FS) *recordings {
	return &recordings{
		utilisations: sync.OnceValues(func() ([]workload.Utilisation, error) { return workload.ReadUtilisations(trace) }),
		functions:    sync.OnceValues(func() ([]workload.Function, error) { return workload.ReadFunctions(trace) }),
		pods:         readPods(trace),
		digest:       sync.OnceValues(func() ([sha256.Size]byte, error) { return digest(trace) }),
	}
}

// What hidden loads take of the cores, and how much faster than recorded.
const (
	hiddenShare = .3
	hiddenSpeed = 10
)

func hidden(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
	c := p.cluster()
	read, err := p.recordings.utilisations()
	if err != nil {
		return c, nil, err
	}
	traces := slices.Clone(read)
	for i := range traces {
		traces[i] = traces[i].Half(p.half())
	}
	c.Background, err = workload.Background(seed, traces, p.each(), hiddenShare, hiddenSpeed, 2*p.Duration)
	if err != nil {
		return c, nil, err
	}
	_, pods, err := arrivalsOf(p, seed)
	return c, pods, err
}

// horizon ends runs in which a scheduler lets pods starve: far more than any
// experiment takes otherwise, in seconds.
const horizon = 20_000

// FirstHeldOut is the first of the seeds that are not for tuning; the seeds
// below it are.
const FirstHeldOut = 101

func (p Params) half() workload.Half {
	if p.HeldOut {
		return workload.Second
	}
	return workload.First
}

func (p Params) cluster() sim.Config {
	c := p.Cluster
	orElse(&c.Horizon, horizon)
	if c.Nodes, c.Node.Cores = p.Nodes, p.Cores; len(p.sizes) > 0 {
		c.Sizes, c.Node.Cores = p.sizes, 0
	}
	c.Node.Overcommit, c.Node.Crowding = p.Overcommit, p.crowding
	return c
}

// Case is an experiment with one value of everything.
type Case struct {
	// Label names it in rows: the experiment and what was swept.
	Label      string
	Experiment Experiment
	Params     Params
}

// batchPerCore is how many pods a core a batch has, as the thesis's 1,000 on 76.
const batchPerCore = 13

// Cases are the combinations of the sweep. Values of p go before the
// experiment's defaults. It returns a *NameError for a fleet that is none, ErrNoTrace
// where a trace is missing, workload.ErrTrace where a folder of it is, and an *OptionError for an
// assignment of Params.Set.
func (e Experiment) Cases(p Params, s Sweep) ([]Case, error) {
	if e.NeedsTrace != "" && p.Trace == nil {
		return nil, fmt.Errorf("%w: %s wants %s", ErrNoTrace, e.Name, e.NeedsTrace)
	}
	switch {
	case e.NeedsTrace == "" && e.OptionalTrace == "":
		p.Trace = nil
	case e.OptionalTrace != "" && p.Trace != nil:
		if err := workload.CheckTraces(p.Trace); err != nil {
			return nil, fmt.Errorf("%s wants %s: %w", e.Name, e.OptionalTrace, err)
		}
	}
	orElse(&p.law, e.defaults.law)
	orElse(&p.Duration, e.defaults.Duration)
	orElse(&p.crowding, e.defaults.crowding)
	alike := p.Nodes > 0 || p.Cores > 0
	p.mixed, p.Fleet, p.sizes = e.defaults.mixed, "", nil
	if e.defaults.Overcommit != node.Evict { // it is a part of what the experiment shows
		p.Overcommit = e.defaults.Overcommit
	}
	p.recordings = newRecordings(p.Trace)
	given := p.Set
	p.Set, p.spazio = nil, e.defaults.spazio
	cases := []Case{{Label: e.Name, Experiment: e, Params: p}}
	cases = expand(cases, "work", s.Work, e.sweep.Work, func(p *Params, v float64) { p.work = v })
	cases = expand(cases, "load", s.Load, e.sweep.Load, func(p *Params, v float64) { p.load = v })
	cases = expand(cases, "law", s.Law, e.sweep.Law, func(p *Params, v workload.Law) { p.law = v })
	cases = expand(cases, "requests", s.Requests, e.sweep.Requests, func(p *Params, v workload.Requests) { p.requests = v })
	cases = expand(cases, "memory", s.memory, e.sweep.memory, func(p *Params, v float64) { p.memory = v })
	cases = expand(cases, "mix", s.mix, e.sweep.mix, func(p *Params, v string) { p.mix = v })
	cases = expand(cases, "belief", s.belief, e.sweep.belief, func(p *Params, v belief) { p.belief = v })
	cases = expand(cases, "slots", s.slots, e.sweep.slots, func(p *Params, v int) { p.slots = v })
	if !alike {
		cases = expand(cases, "fleet", s.Fleet, e.sweep.Fleet, func(p *Params, v string) { p.Fleet = v })
	}
	for i := range cases {
		if err := cases[i].Params.complete(e); err != nil {
			return nil, err
		}
	}
	for _, assignment := range given {
		for i := range cases {
			var err error
			if cases[i], err = cases[i].with(assignment); err != nil {
				return nil, err
			}
		}
	}
	return cases, nil
}

// expand makes a case a value of each case; a value that the experiment does not
// know of is left out.
func expand[T any](cases []Case, name string, given, own []T, set func(*Params, T)) []Case {
	if len(own) == 0 && name != "law" && name != "fleet" {
		return cases
	}
	if len(given) > 0 {
		own = given
	}
	if len(own) == 0 {
		return cases
	}
	var all []Case
	for _, c := range cases {
		for _, v := range own {
			d := c
			set(&d.Params, v)
			d.Label += fmt.Sprintf("/%s=%v", name, v)
			all = append(all, d)
		}
	}
	return all
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
