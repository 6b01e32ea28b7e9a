package experiment

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Profiles is the group of the experiments on job profiles, for ByGroup.
const Profiles = "profiles"

// Names of what Spazio with profiles is compared with.
const (
	// units is Spazio with profiles whatever the experiment.
	units = "spazio-units"
	// pooled is Spazio without: each pod is a typical one.
	pooled = "spazio-pooled"
	scalar = "spazio-scalar"
	// shortestFirst is Spazio that tries the pods first that are expected to live for less.
	shortestFirst = "spazio-shortest-first"
	// recommender and recommenderOnline go before the name of a preset: the default
	// profile with requests that the recommender writes, who knows all pods from the
	// start, or learns in the run.
	recommender       = "requests-"
	recommenderOnline = "learnt-"
)

var profiled = []namedScheduler{
	{units, "Spazio, each pod counted at what its workload is known to take", func(p Params) sim.Scheduler {
		p.spazio.Profiles.On = true
		return p.spazio
	}},
	{pooled, "Spazio, every pod counted as a typical one", func(p Params) sim.Scheduler {
		p.spazio.Profiles = sim.Profiles{}
		return p.spazio
	}},
	{scalar, "Spazio, each pod counted for so many typical ones as its largest part is", func(p Params) sim.Scheduler {
		p.spazio.Profiles.On, p.spazio.Profiles.Scalar = true, true
		return p.spazio
	}},
	{shortestFirst, "Spazio, pods of workloads whose pods live for less tried first", func(p Params) sim.Scheduler {
		p.spazio.ShortestFirst = true
		return p.spazio
	}},
}

// recommenders are kube-scheduler with requests of each preset.
func recommenders() []namedScheduler {
	var named []namedScheduler
	for _, preset := range profile.Presets() {
		named = append(named,
			namedScheduler{recommender + preset.Name, "the default profile with requests of the recommender " + preset.Name + ", who knows all pods from the start", func(Params) sim.Scheduler {
				return sim.Recommended{Preset: preset, Profiles: sim.Profiles{Known: 1, Frozen: true}}
			}},
			namedScheduler{recommenderOnline + preset.Name, "the same, who learns in the run", func(Params) sim.Scheduler {
				return sim.Recommended{Preset: preset}
			}})
	}
	return named
}

// recommends reports whether a scheduler's requests are a recommender's.
func recommends(scheduler string) bool {
	return slices.ContainsFunc(recommenders(), func(n namedScheduler) bool { return n.Name == scheduler })
}

// bestRecommender is the one whose requests have the least mean of a metric.
func bestRecommender(means []Line, label, metric string) (name string, ok bool) {
	least := math.Inf(1)
	for _, l := range means {
		if l.Experiment == label && l.Metric == metric && recommends(l.Scheduler) && l.Mean < least {
			name, least = l.Scheduler, l.Mean
		}
	}
	return name, name != ""
}

// profiledField are what the experiments on profiles compare.
func profiledField() []string {
	names := []string{Spazio, pooled, scalar, Default, requestsRight}
	for _, n := range recommenders() {
		names = append(names, n.Name)
	}
	return append(names, "load-aware", centralQueue, lowerBound)
}

// belief is what is known of the workloads when a run begins, "" for nothing: "x0.3"
// for three tenths of what they take, and "rollout" for what holds until, in the middle
// of it, their memory doubles.
type belief string

const rollout belief = "rollout"

// known is by what factor knowledge is off, 0 for none.
func (b belief) known() float64 {
	text, ok := strings.CutPrefix(string(b), "x")
	if !ok {
		return 0
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return factor
}

// profiles completes what the scheduler knows.
func (p *Params) profiles() {
	p.spazio.Profiles.Known = p.belief.known()
	p.spazio.Profiles.Config.Slots = p.slots
}

var memorySized = node.Params{}.WithDefaults().Memory

// unlike are workloads that have little in common: a batch where there is no load, or
// arrivals.
func unlike(w workload.Workloads) func(Params, uint64) (sim.Config, []sim.Pod, error) {
	return func(p Params, seed uint64) (c sim.Config, pods []sim.Pod, err error) {
		c = p.cluster()
		if p.load == 0 && p.belief != rollout {
			pods, err = workload.Unlike(seed, p.Pods, p.work, p.law, memorySized, w)
			return c, pods, err
		}
		load := p.load
		orElse(&load, .7)
		pods, err = workload.UnlikeArrivals(seed, load, p.cores(), p.work, p.Duration, p.law, memorySized, w)
		if p.belief == rollout {
			pods = workload.RollOut(pods, p.Duration/2, 2, memorySized*mostRolledOut)
		}
		return c, pods, err
	}
}

// mostRolledOut is what a pod takes at most of a node's memory, so that it can run.
const mostRolledOut = .9

// days of so many seconds are those of profiles-daily.
const days, daySeconds = 4, 400

// on19 are the thesis's nodes, and fleets of larger ones.
var on19 = []string{"19x4", medium, large, mixed}

// unlikePerCore is how many pods a core a batch of unlike workloads has.
const unlikePerCore = 2000. / 76

// counting has Spazio count by profiles.
var counting = sim.Spazio{Profiles: sim.Profiles{On: true}}

var profiles = []Experiment{
	{
		Name: "profiles-mixes", alias: "p1", Title: "Mixed batches whose workloads have names",
		Question: "The pods of memory and of mixed-io: what does it gain to count each at what its workload was measured to take?",
		defaults: Params{mixed: true, spazio: counting}, perCore: batchPerCore, schedulers: profiledField(),
		sweep: Sweep{Work: []float64{10}, Law: workload.Laws(), mix: []string{"memory", "mixed-io"}, Fleet: on19},
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			if p.mix == "mixed-io" {
				return mixture(thirds)(p, seed)
			}
			return mixture(workload.Mix{})(p, seed)
		},
	},
	{
		Name: "profiles-unlike", alias: "p2", Title: "A batch of twenty workloads that have little in common",
		Question: "Twenty-six pods a core of 20 s, a twentieth of a core to one and 0.3 to 30 % of a node's memory, alike within a fifth in a workload, and none declares anything: who packs them?",
		defaults: Params{mixed: true, spazio: counting}, perCore: unlikePerCore, schedulers: profiledField(),
		sweep: Sweep{Work: []float64{20}, Law: workload.Laws(), Fleet: on19},
		build: unlike(workload.Workloads{}),
	},
	{
		Name: "profiles-arrivals", alias: "p3", Title: "Arrivals of unlike workloads",
		Question: "The same pods arrive as a Poisson process: who does no harm while there is room, and who finds it when there is little?",
		defaults: Params{Duration: 400, law: workload.Equal, mixed: true, spazio: counting}, schedulers: profiledField(),
		sweep: Sweep{Work: []float64{20}, Load: []float64{.5, .7, .9}, Fleet: on19},
		build: unlike(workload.Workloads{}),
	},
	{
		Name: "profiles-wrong", alias: "p4", Title: "Profiles that are wrong, until measured",
		Question: "What is known of all workloads at first is three tenths or three times what they take, or in the middle of arrivals a rollout doubles their memory: what does it cost?",
		defaults: Params{Duration: 400, law: workload.Equal, mixed: true, spazio: counting}, perCore: unlikePerCore, schedulers: profiledField(),
		sweep: Sweep{Work: []float64{20}, belief: []belief{"x0.3", "x3", rollout}, Fleet: on19},
		build: unlike(workload.Workloads{}),
	},
	{
		Name: "profiles-frozen", alias: "p5", Title: "Profiles that are wrong and stay so",
		Question: "The profiler says a tenth, half or three times what pods take and never learns: does the scheduler notice?",
		defaults: Params{law: workload.Equal, mixed: true, spazio: sim.Spazio{Profiles: sim.Profiles{On: true, Frozen: true}}}, perCore: unlikePerCore,
		schedulers: []string{Spazio, pooled, Default, centralQueue, lowerBound},
		sweep:      Sweep{Work: []float64{20}, belief: []belief{"x0.1", "x0.5", "x3"}, Fleet: on19},
		build:      unlike(workload.Workloads{}),
	},
	{
		Name: "profiles-daily", alias: "p6", Title: "Day and night",
		Question:   "Four days of 400 s: pods arrive as in profiles-arrivals and by night take twice the memory. What does a profiler gain that distinguishes the hours of the day, two days or more into it?",
		defaults:   Params{Duration: days * daySeconds, law: workload.Equal, mixed: true, spazio: sim.Spazio{Profiles: sim.Profiles{On: true, Day: daySeconds}}},
		schedulers: profiledField(),
		sweep:      Sweep{Work: []float64{20}, Load: []float64{.5}, slots: []int{1, 4, 24}, Fleet: on19},
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			pods, err := workload.UnlikeArrivals(seed, p.load, p.cores(), p.work, p.Duration, p.law, memorySized, workload.Workloads{})
			return p.cluster(), workload.Nightly(pods, daySeconds, 2, memorySized*mostRolledOut), err
		},
	},
	{
		Name: "profiles-growing", alias: "p7", Title: "Memory that grows for a minute",
		Question: "Pods run for 100 s and take their memory over the first 60: do profiles know ahead what readings do not show yet?",
		defaults: Params{Duration: 800, law: workload.Equal, mixed: true, spazio: counting}, schedulers: profiledField(),
		sweep: Sweep{Work: []float64{100}, Load: []float64{.5, .7}, Fleet: on19},
		build: unlike(workload.Workloads{Ramp: 60}),
	},
	{
		Name: "profiles-one-off", alias: "p8", Title: "One-off pods",
		Question: "The batch of profiles-unlike, but no name repeats: what do profiles cost where they can know nothing?",
		defaults: Params{mixed: true, spazio: counting}, perCore: unlikePerCore, schedulers: profiledField(),
		sweep: Sweep{Work: []float64{20}, Law: workload.Laws(), Fleet: on19},
		build: unlike(workload.Workloads{OneOff: true}),
	},
	{
		Name: "profiles-lives", Title: "Workloads whose pods live for unlike times",
		Question:   "The pods of profiles-arrivals, but those of one workload live for up to a hundred times as long as those of another: what does it gain to try the shortest first, and who waits for it?",
		defaults:   Params{Duration: 600, mixed: true, spazio: counting},
		schedulers: []string{Spazio, shortestFirst, pooled, Default, requestsRight}, chosen: true,
		sweep: Sweep{Work: []float64{20}, Law: workload.Laws(), Load: []float64{.9, 1.1}, Fleet: on19},
		build: unlike(workload.Workloads{Lives: 100}),
	},
}

// swapping limits targets to nodes that swap, killing to those that kill pods.
func (r rule) swapping() rule {
	return func(c Case) bool { return r(c) && c.Params.Overcommit == node.Swap }
}
func (r rule) killing() rule {
	return func(c Case) bool { return r(c) && c.Params.Overcommit != node.Swap }
}

func (r rule) mix(name string) rule { return func(c Case) bool { return r(c) && c.Params.mix == name } }

// atLoad limits targets to arrivals at a load.
func (r rule) atLoad(load float64) rule {
	return func(c Case) bool { return r(c) && c.Params.load == load }
}

// profileTargets are what counting by profiles should reach, most against Spazio
// without.
var profileTargets = []target{
	{in("profiles-mixes").mix("memory").law(workload.Equal), "makespan", ratioToPooled, false, .95},
	{in("profiles-mixes"), "sojourn_mean", ratioToPooled, false, .85},
	{in("profiles-unlike"), "makespan", ratioToPooled, false, .8},
	{in("profiles-unlike"), "sojourn_mean", ratioToPooled, false, .65},
	{in("profiles-unlike").swapping(), "memory_overload", ratioToPooled, false, .1},
	{in("profiles-unlike").killing(), "kills", ratioToPooled, false, .1},
	{in("profiles-arrivals").atLoad(.7), "sojourn_mean", ratioToPooled, false, .5},
	{in("profiles-arrivals").atLoad(.7), "slowdown_p99", ratioToPooled, false, .5},
	{in("profiles-mixes", "profiles-unlike"), "makespan", ratioToRecommender, false, .8},
	{in("profiles-mixes", "profiles-unlike"), "sojourn_mean", ratioToRecommender, false, .75},
	{in("profiles-wrong", "profiles-daily", "profiles-one-off"), "sojourn_mean", ratioToPooled, false, 1},
	{in("profiles-wrong", "profiles-daily", "profiles-one-off").swapping(), "memory_overload", ratioToPooled, false, 1},
	{in("profiles-wrong", "profiles-daily", "profiles-one-off").killing(), "kills", ratioToPooled, false, 1},
	{in("profiles-frozen"), "makespan", ratioToPooled, false, 1.15},
	{in("profiles-frozen"), "sojourn_mean", ratioToPooled, false, 1.15},
	{in("profiles-mixes", "profiles-unlike", "profiles-arrivals", "profiles-wrong", "profiles-daily", "profiles-growing", "profiles-one-off"), "wait_largest_tenth", ratioToPooled, false, 1},
}
