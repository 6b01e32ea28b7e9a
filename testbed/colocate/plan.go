package colocate

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/spazio-scheduler/spazio/testbed"
)

// MostExact is the most jobs that are planned exactly; it takes 2^n steps.
const MostExact = 20

// Plan is a pairing of jobs.
type Plan struct {
	// Pairs has each job once; of an odd number of jobs the last pair is one alone.
	Pairs []Pair
	// Longest is the longest run time, and Sum that of all jobs, in seconds, as far as
	// they are known.
	Longest, Sum float64
	// Unknown is how many of the run times are not known.
	Unknown int
	// Exact reports whether no pairing is better.
	Exact bool
}

// cost is what it takes to put two jobs together.
type cost struct {
	unknown      int
	longest, sum float64
}

func (c cost) plus(d cost) cost {
	return cost{c.unknown + d.unknown, max(c.longest, d.longest), c.sum + d.sum}
}

// cost returns what the pair takes; b may be empty.
func (m *Matrix) cost(a, b string) cost {
	if b == "" {
		return ofCell(m.At(a, a))
	}
	return ofCell(m.At(a, b)).plus(ofCell(m.At(b, a)))
}

func ofCell(c Cell) cost {
	if c.Count == 0 {
		return cost{unknown: 1}
	}
	return cost{longest: c.Mean, sum: c.Mean}
}

// plan makes a Plan of pairs.
func (m *Matrix) plan(pairs []Pair) Plan {
	var all cost
	for _, p := range pairs {
		all = all.plus(m.cost(p.A, p.B))
	}
	return Plan{Pairs: pairs, Longest: all.longest, Sum: all.sum, Unknown: all.unknown}
}

// Greedy pairs the jobs in the order given: the first that is left with the one, of
// those that are left, beside which it takes least itself; one beside which it has not
// run comes last, and of equals the first. It is the thesis' plan.
func (m *Matrix) Greedy(jobs []string) (Plan, error) {
	if err := check(jobs); err != nil {
		return Plan{}, err
	}
	var pairs []Pair
	paired := make([]bool, len(jobs))
	for i, a := range jobs {
		if paired[i] {
			continue
		}
		best := -1
		for j := i + 1; j < len(jobs); j++ {
			if !paired[j] && (best < 0 || m.better(a, jobs[j], jobs[best])) {
				best = j
			}
		}
		p := Pair{A: a}
		if best >= 0 {
			p.B, paired[best] = jobs[best], true
		}
		pairs = append(pairs, p)
	}
	return m.plan(pairs), nil
}

// better reports whether a takes less beside b than beside c.
func (m *Matrix) better(a, b, c string) bool {
	x, y := ofCell(m.At(a, b)), ofCell(m.At(a, c))
	return cmp.Or(cmp.Compare(x.unknown, y.unknown), cmp.Compare(x.sum, y.sum)) < 0
}

// Plan pairs the jobs so that the fewest run times are unknown, then the longest is the
// least, then their sum; of equal pairings it takes the first by the jobs' names. Beyond
// MostExact jobs it is Greedy of the names in order. A job without a name, or named twice,
// is a *field.Error, here as for Greedy.
func (m *Matrix) Plan(jobs []string) (Plan, error) {
	if err := check(jobs); err != nil {
		return Plan{}, err
	}
	names := sorted(jobs)
	if len(names) > MostExact {
		return m.Greedy(names)
	}
	p := newPairing(m, names)
	p.solve(math.Inf(1), func(c *cost, rest float64) float64 { return max(c.longest, rest) })
	p.solve(p.best[len(p.best)-1].value, func(c *cost, rest float64) float64 { return c.sum + rest })
	plan := m.plan(p.pairs())
	plan.Exact = true
	return plan, nil
}

// state is the best that can be made of a set of jobs.
type state struct {
	unknown int32
	// partner is the index of the job that the first of the set is put beside.
	partner int32
	value   float64
}

// pairing finds a pairing by dynamic programming over subsets of the jobs: the first
// job of a set has some partner, and the rest of the set is a smaller set. The longest
// run time and the sum cannot be had in one pass, as a set's best by (longest, sum) need
// not be part of the best of a larger one. So the first pass finds the least longest, and
// the second the least sum of those pairings that keep to it.
type pairing struct {
	names []string
	// n is the number of jobs made even: the last may stand for none, and a job beside it is alone.
	n     int
	costs []cost
	best  []state
}

func newPairing(m *Matrix, names []string) *pairing {
	n := len(names) + len(names)%2
	p := &pairing{names: names, n: n, costs: make([]cost, n*n), best: make([]state, 1<<n)}
	for i := range names {
		for j := i + 1; j < n; j++ {
			p.costs[i*n+j] = m.cost(names[i], p.name(j))
		}
	}
	return p
}

// name returns the job's name, empty for none.
func (p *pairing) name(i int) string {
	if i < len(p.names) {
		return p.names[i]
	}
	return ""
}

// solve fills best for all sets of an even number of jobs, the smaller before the larger: no run
// time is longer than the limit, and value makes a set's of a pair and of the rest.
func (p *pairing) solve(limit float64, value func(c *cost, rest float64) float64) {
	for set := 1; set < len(p.best); set++ {
		if bits.OnesCount(uint(set))%2 != 0 {
			continue
		}
		first := bits.TrailingZeros(uint(set))
		best := state{partner: -1}
		for others := set & (set - 1); others != 0; others &= others - 1 {
			partner := bits.TrailingZeros(uint(others))
			c, rest := &p.costs[first*p.n+partner], &p.best[set&^(1<<first)&^(1<<partner)]
			if rest.partner < 0 || c.longest > limit {
				continue
			}
			s := state{unknown: int32(c.unknown) + rest.unknown, partner: int32(partner), value: value(c, rest.value)}
			if best.partner < 0 || s.unknown < best.unknown || s.unknown == best.unknown && s.value < best.value {
				best = s
			}
		}
		p.best[set] = best
	}
}

// pairs reads the pairing of all jobs.
func (p *pairing) pairs() []Pair {
	var pairs []Pair
	var alone []Pair
	for set := len(p.best) - 1; set != 0; {
		first, partner := bits.TrailingZeros(uint(set)), int(p.best[set].partner)
		pair := Pair{A: p.names[first], B: p.name(partner)}
		if pair.B == "" {
			alone = append(alone, pair)
		} else {
			pairs = append(pairs, pair)
		}
		set &^= 1<<first | 1<<partner
	}
	return append(pairs, alone...)
}

// Survey is how long all pairings of some jobs take, where each pair has a node of its own:
// from the first start to the last end, in seconds.
type Survey struct {
	Best, Mean, Worst float64
	// Pairings is how many there are; of 2n jobs (2n−1)!!.
	Pairings int
}

// NewSurvey looks at all pairings of the jobs, of an odd number with each alone in turn. What
// a pair takes is asked once of each. More than MostExact jobs are a *field.Error; that many
// have 6.5e8 pairings, which takes seconds.
func NewSurvey(jobs []string, takes func(Pair) (float64, error)) (Survey, error) {
	if err := check(jobs); err != nil {
		return Survey{}, err
	}
	if len(jobs) > MostExact {
		return Survey{}, testbed.Refuse("jobs", strings.Join(jobs, ","), fmt.Sprintf("at most %d", MostExact))
	}
	w := walk{n: len(jobs) + len(jobs)%2}
	w.takes = make([]float64, w.n*w.n)
	for i, a := range jobs {
		for j := i + 1; j < w.n; j++ {
			pair := Pair{A: a}
			if j < len(jobs) {
				pair.B = jobs[j]
			}
			var err error
			if w.takes[i*w.n+j], err = takes(pair); err != nil {
				return Survey{}, err
			}
		}
	}
	w.extend(0, 0)
	w.survey.Mean = w.sum / float64(w.survey.Pairings)
	return w.survey, nil
}

// walk goes through all pairings, with what the pairs so far take.
type walk struct {
	n      int // even: the last may stand for none
	takes  []float64
	sum    float64
	survey Survey
}

// extend pairs the first job that is not in the set with each other one that is not.
func (w *walk) extend(set uint32, longest float64) {
	first := 0
	for set&(1<<first) != 0 {
		first++
	}
	if first >= w.n {
		w.add(longest)
		return
	}
	for other := first + 1; other < w.n; other++ {
		if set&(1<<other) == 0 {
			w.extend(set|1<<first|1<<other, max(longest, w.takes[first*w.n+other]))
		}
	}
}

func (w *walk) add(makespan float64) {
	s := &w.survey
	if s.Pairings == 0 || makespan < s.Best {
		s.Best = makespan
	}
	s.Worst = max(s.Worst, makespan)
	w.sum += makespan
	s.Pairings++
}

// Makespan is what the longest of the pairs takes; 0 without any.
func Makespan(pairs []Pair, takes func(Pair) (float64, error)) (float64, error) {
	longest := 0.0
	for _, pair := range pairs {
		seconds, err := takes(pair)
		if err != nil {
			return 0, err
		}
		longest = max(longest, seconds)
	}
	return longest, nil
}
