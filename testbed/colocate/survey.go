package colocate

import (
	"fmt"
	"strings"

	"github.com/spazio-scheduler/spazio/testbed"
)

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
