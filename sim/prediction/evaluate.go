package prediction

import (
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/pronto"
)

// row is a signal on a source, and how it did.
type row struct {
	// Source is its name, Filtered that the signal saw it behind the agent's filter.
	Source   string
	Filtered bool
	// Spike is what counted as one.
	Spike  threshold
	Signal string
	signalScore
}

// Result is an evaluation. It is a plain value, safe for concurrent reading.
type Result struct {
	sources []Source
	Rows    []row
	// starts is what became of the pressure where containers started, of the sources
	// that know.
	starts []starts
}

// Evaluate holds every signal against the spikes of every source, raw and filtered.
// Seed is of what is left to chance. The error is a *field.Error.
func Evaluate(sources []Source, seed uint64) (Result, error) {
	result := Result{sources: sources}
	names := map[string]bool{}
	for _, s := range sources {
		if err := s.validate(); err != nil {
			return Result{}, err
		}
		if names[s.name] {
			return Result{}, refuse("Name", s.name, "of one source alone")
		}
		names[s.name] = true
		for _, behind := range []bool{false, true} {
			j, err := judge(s, behind, seed)
			if err != nil {
				return Result{}, err
			}
			result.Rows = append(result.Rows, j.rows()...)
		}
		if starts, ok := startsOf(s); ok {
			result.starts = append(result.starts, starts)
		}
	}
	return result, nil
}

// rejections are those of Pronto on each of the source's nodes, sample by sample; filtered
// is behind the agent's filter, as row.Filtered. The error is a *field.Error.
func rejections(s Source, filtered bool) ([][]bool, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	j, err := judge(s, filtered, 0)
	return j.rejects[prontoSignal], err
}

// judgement is the rejections of all signals but chance on a source.
type judgement struct {
	Source
	behind  bool
	seed    uint64
	void    [][]bool // where the gate is closed, by node
	rejects map[string][][]bool
}

func judge(s Source, behind bool, seed uint64) (j judgement, err error) {
	j = judgement{Source: s, behind: behind, seed: seed, void: make([][]bool, len(s.nodes)), rejects: map[string][][]bool{}}
	seen := s
	if behind {
		if seen, err = filtered(s); err != nil {
			return j, err
		}
		for i, n := range s.nodes {
			j.void[i] = gate(n.Churn, s.second)
		}
	}
	for name, every := range map[string]func([]*pronto.Tracker, int) error{prontoSignal: federate, aloneSignal: nil, svdSignal: uncentred(seen)} {
		if j.rejects[name], err = tracked(seen, pronto.Config{}, every); err != nil {
			return j, err
		}
		for i, rejects := range j.rejects[name] {
			silence(rejects, j.void[i])
		}
	}
	for i, n := range s.nodes {
		pressure := n.Pressure
		if behind {
			if pressure, err = smoothed(pressure); err != nil {
				return j, err
			}
		}
		often := count(j.rejects[prontoSignal][i])
		j.rejects[rawSignal] = append(j.rejects[rawSignal], asOften(pressure, j.void[i], often))
		j.rejects[zScore] = append(j.rejects[zScore], asOften(zScores(pressure), j.void[i], often))
	}
	return j, nil
}

// rows are those of the source, of each kind of spike in turn.
func (j judgement) rows() (rows []row) {
	for _, t := range thresholds() {
		for k, signal := range signals() {
			if signal == aloneSignal && len(j.nodes) == 1 {
				continue // no fleet, no difference
			}
			rng := rand.New(rand.NewPCG(j.seed, uint64(k)))
			row := row{Source: j.name, Filtered: j.behind, Spike: t, Signal: signal}
			for i, n := range j.nodes {
				row.signalScore = row.plus(j.on(i, signal, above(n.Pressure, t.of(n.Pressure)), rng))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// on scores a signal on a node.
func (j judgement) on(i int, signal string, spiking []bool, rng *rand.Rand) signalScore {
	if signal != coinSignal && signal != shifted {
		return score(spiking, j.rejects[signal][i], j.second)
	}
	var sum signalScore
	for range draws {
		drawn := shift(rng, j.rejects[prontoSignal][i])
		if signal == coinSignal {
			drawn = toss(rng, j.rejects[prontoSignal][i], j.void[i])
		}
		sum = sum.plus(score(spiking, drawn, j.second))
	}
	return sum.over(draws)
}
