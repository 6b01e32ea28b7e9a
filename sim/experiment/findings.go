package experiment

import (
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Names of groups of experiments, for ByGroup: All is all but those on profiles, on
// energy and on the findings; Findings are those on parts of the thesis's algorithm (see
// [FindingVerdict]).
const (
	All      = "all"
	Findings = "findings"
)

// ByGroup finds the experiments of a name: those of All, all of the findings for
// Findings, or for the number of one ("finding-1"), or the one of that very name.
// The error is a *NameError.
func ByGroup(name string) ([]Experiment, error) {
	switch {
	case strings.EqualFold(name, All):
		return slices.Clone(experiments), nil
	case strings.EqualFold(name, Profiles):
		return slices.Clone(profiles), nil
	case strings.EqualFold(name, Energy):
		return slices.Clone(energies), nil
	}
	if e, err := ByName(name); err == nil {
		return []Experiment{e}, nil
	}
	var group []Experiment
	for _, e := range findings {
		number, _, _ := strings.Cut(strings.TrimPrefix(e.Name, "finding-"), "-")
		if strings.EqualFold(name, Findings) || strings.EqualFold(name, "finding-"+number) {
			group = append(group, e)
		}
	}
	if len(group) == 0 {
		return nil, &NameError{kind: "experiment", name: name, known: append(experimentNames(), All, Findings, Profiles, Energy)}
	}
	return group, nil
}

// Sources are the thesis's algorithm and the same with one remedy after another.
func sources() []string {
	return []string{Default, "source", "source-signal", "source-pooled", "source-cautious", reference, Spazio}
}

// findings are what a fluid prototype showed of the thesis's algorithm, taken up
// with the real agent. Each sets aside what is not asked for.
var findings = []Experiment{
	arrivals("finding-1-arrivals", .53, "The thesis's algorithm at light load",
		"Pods of 10 s take half of the cores: does the algorithm run away as the thesis has it, and which remedy ends that?", sources()),
	batches("finding-1-batch", []float64{10}, "The thesis's algorithm and a batch",
		"The same schedulers and 1,000 pods of 10 s at once.", sources()),
	arrivals("finding-1-parts", .53, "Which part of the thesis's algorithm runs away",
		"One part is replaced at a time: what ends the runaway, and what makes it worse?", []string{
			"source", "source-channels", "source-ledger", "source-centred", "source-events",
			"source-merged", "source-cold-1", "source-headroom", "source-headroom-floored",
		}),
	arrivals("finding-2", .53, "Units of the estimator",
		"Does the estimator do better on the headroom in absolute units than on k, whose ruler moves with the load?", []string{
			Default, "source", "source-headroom", "source-signal", "source-headroom-signal",
			"source-pooled", "source-headroom-pooled", "source-cautious", "source-headroom-cautious",
		}),
	batches("finding-3", []float64{.1, 1, 10}, "Reports on events",
		"What do reports gain that leave when a pod starts or ends, ahead of the next second's block?",
		[]string{Default, reference, "blocks-alone", Spazio}),
	batches("finding-4", []float64{.1, 1, 10}, "An allowance for the start-up",
		"A slot idles while its next pod starts: what do pods ahead of confirmation gain, as many as start-up over run time says and twice that, and when do they run away?",
		[]string{Default, reference, "allowance-1", "allowance-2", Spazio}),
	batches("finding-5", []float64{10}, "Cold start",
		"Is one pod a core smoother on fresh nodes than two?", []string{Default, reference, "cold-2", "no-slow-start", "cold-2-at-once", Spazio}),
	arrivals("finding-6", .53, "The floor",
		"Does a bad estimate lock an empty node out unless it always offers a pod?",
		[]string{Default, "source-cautious", "source-cautious-open", reference, "no-floor", Spazio}),
	batches("finding-7", []float64{10, 60}, "Makespan misleads",
		"Equal sizes end in rounds where sharing ends at once: does the same algorithm look different with exponential sizes?",
		[]string{Default, reference, Spazio, centralQueue}),
	mixes("finding-8", []float64{.5}, "Mixed pods",
		"Half of 1,000 pods press on memory: what keeps an allowance from filling nodes that can take no more?",
		[]string{Default, "source", "source-cautious", "unguarded", "no-slow-start", "allowance-1", reference, Spazio}),
	mixes("finding-9-batch", []float64{.2, .35, .5, .65, .8}, "One cost along u₁ or one a channel: mixes",
		"Five mixes of CPU-bound pods and pods that press on memory.", []string{Default, "scalar", reference, Spazio}),
	arrivals("finding-9-arrivals", .66, "One cost along u₁ or one a channel: light load",
		"Five pods of 10 s arrive a second.", []string{Default, "scalar", reference, Spazio}),
	batches("finding-10-batch", []float64{1, 10}, "Pronto's rejection signal and a batch",
		"What do rejections at peaks change, beside a coin that rejects as often, and what its variants: each node on its own, weights by variance, other metrics, rejections that last?", prontos()),
	arrivals("finding-10-arrivals", .8, "Pronto's rejection signal and arrivals",
		"The same where pods of 10 s take four fifths of the cores.", prontos()),
	batches("finding-11", []float64{1, 10}, "An allowance as TCP's window",
		"The first draft raises what a node offers beyond its room while pods do not take longer, and halves it when they do: what does that gain?",
		[]string{Default, reference, "allowance-1", "over-provision", "over-provision-open", Spazio}),
}

// prontos are Pronto, what it is held against, and its variants.
func prontos() []string {
	return []string{
		Default, Spazio, "coin", Pronto, ProntoCoin, "pronto-alone", "pronto-energy", "pronto-signed", "pronto-utilisation", "pronto-each",
		"pronto-lasting", "pronto-lasting-coin",
	}
}

func arrivals(name string, load float64, title, question string, schedulers []string) Experiment {
	return Experiment{
		Name: name, Title: title, Question: question, schedulers: schedulers, chosen: true,
		defaults: Params{Duration: 300, law: workload.Equal},
		sweep:    Sweep{Work: []float64{10}, Load: []float64{load}},
		build:    arrivalsOf,
	}
}

func batches(name string, work []float64, title, question string, schedulers []string) Experiment {
	return Experiment{
		Name: name, Title: title, Question: question, schedulers: schedulers, chosen: true,
		defaults: Params{Pods: 1000}, sweep: Sweep{Work: work, Law: workload.Laws()},
		build: batchOf,
	}
}

func mixes(name string, shares []float64, title, question string, schedulers []string) Experiment {
	return Experiment{
		Name: name, Title: title, Question: question, schedulers: schedulers, chosen: true,
		defaults: Params{Pods: 1000, law: workload.Exponential, mixed: true, Overcommit: node.Swap}, // as the prototype's nodes
		sweep:    Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}, memory: shares},
		build: func(p Params, seed uint64) (sim.Config, []sim.Pod, error) {
			return mixture(workload.Mix{MemoryShare: p.memory})(p, seed)
		},
	}
}
