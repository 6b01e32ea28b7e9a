package colocate_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// Of 2n jobs there are (2n−1)!! pairings, of 2n−1 as many.
func TestSurveyCounts(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 1, 3: 3, 4: 3, 5: 15, 6: 15, 8: 105, 10: 945, 12: 10395} {
		calls := map[colocate.Pair]int{}
		s, err := colocate.NewSurvey(names(n), func(p colocate.Pair) (float64, error) { calls[p]++; return 1, nil })
		if err != nil || s.Pairings != want || s.Best != 1 || s.Mean != 1 || s.Worst != 1 {
			t.Errorf("%d jobs: %+v, error %v, want %d", n, s, err, want)
		}
		pairs := n * (n - 1) / 2
		if n%2 == 1 {
			pairs += n // each alone
		}
		for pair, times := range calls {
			if times != 1 {
				t.Errorf("%v: got %d calls", pair, times)
			}
		}
		if len(calls) != pairs {
			t.Errorf("%d jobs: got %d pairs, want %d", n, len(calls), pairs)
		}
	}
}

// The naive reference lists every order of the jobs, takes two after two, and counts each pairing once.
func TestSurveyEqualsPermutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 7; n++ {
		jobs, seconds := names(n), map[colocate.Pair]float64{}
		takes := func(p colocate.Pair) (float64, error) {
			if p.B != "" && p.A > p.B {
				p.A, p.B = p.B, p.A
			}
			if _, ok := seconds[p]; !ok {
				seconds[p] = 1 + 9*rng.Float64()
			}
			return seconds[p], nil
		}
		s, err := colocate.NewSurvey(jobs, takes)
		if err != nil {
			t.Fatal(err)
		}
		seen, best, worst, sum := map[string]bool{}, math.Inf(1), 0., 0.
		permute(jobs, func(order []string) {
			var pairs []colocate.Pair
			for i := 0; i < n; i += 2 {
				p := colocate.Pair{A: order[i]}
				if i+1 < n {
					p.B = order[i+1]
					p.A, p.B = min(p.A, p.B), max(p.A, p.B)
				}
				pairs = append(pairs, p)
			}
			slices.SortFunc(pairs, func(p, q colocate.Pair) int { return slices.Compare([]string{p.A, p.B}, []string{q.A, q.B}) })
			if key := fmt.Sprint(pairs); !seen[key] {
				seen[key] = true
				makespan, err := colocate.Makespan(pairs, takes)
				if err != nil {
					t.Fatal(err)
				}
				best, worst, sum = min(best, makespan), max(worst, makespan), sum+makespan
			}
		})
		if mean := sum / float64(len(seen)); s.Pairings != len(seen) || s.Best != best || s.Worst != worst || math.Abs(s.Mean-mean) > 1e-12*mean {
			t.Errorf("%d jobs: %+v, want %d, %v, %v, %v", n, s, len(seen), best, mean, worst)
		}
	}
}

func permute(left []string, visit func([]string)) {
	var extend func(order, left []string)
	extend = func(order, left []string) {
		if len(left) == 0 {
			visit(order)
		}
		for i := range left {
			extend(append(slices.Clip(order), left[i]), append(slices.Clone(left[:i]), left[i+1:]...))
		}
	}
	extend(nil, left)
}

func TestSurveyRefuses(t *testing.T) {
	takes := func(colocate.Pair) (float64, error) { return 1, nil }
	for _, jobs := range [][]string{{"a", "a"}, {""}, names(colocate.MostExact + 1)} {
		var name *field.Error
		if _, err := colocate.NewSurvey(jobs, takes); !errors.As(err, &name) {
			t.Errorf("%d jobs: %v", len(jobs), err)
		}
	}
	fails := errors.New("fails")
	failing := func(p colocate.Pair) (float64, error) { return 1, fails }
	if _, err := colocate.NewSurvey(names(2), failing); !errors.Is(err, fails) {
		t.Errorf("%v", err)
	}
	if _, err := colocate.Makespan([]colocate.Pair{{A: "a"}}, failing); !errors.Is(err, fails) {
		t.Errorf("%v", err)
	}
}

func ExampleNewSurvey() {
	cores := map[string]float64{"render": 1, "train": 1, "crawl": .1, "poll": .1}
	// Beside each other on one core, jobs of ten seconds take as long as both together.
	beside := func(p colocate.Pair) (float64, error) { return 10 * max(1, cores[p.A]+cores[p.B]), nil }
	s, err := colocate.NewSurvey([]string{"render", "train", "crawl", "poll"}, beside)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d pairings: best %.1f s, mean %.1f s, worst %.1f s\n", s.Pairings, s.Best, s.Mean, s.Worst)
	// Output: 3 pairings: best 11.0 s, mean 14.0 s, worst 20.0 s
}
