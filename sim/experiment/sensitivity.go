package experiment

import (
	"cmp"
	"math"
	"slices"
)

// Variation is a case under another value of one constant.
type Variation struct {
	Constant Constant
	// Scale is what the default was multiplied by, Value the setting's text.
	Scale float64
	Value string
	// Case has the value, Of is the label of the case that has the default.
	Case Case
	Of   string
}

// Vary returns every case with each constant at each scale of its default. A
// scale that leaves a whole number as it is, or is at the end of its range as
// another is, is left out.
func Vary(cases []Case, constants []Constant, scales []float64) ([]Variation, error) {
	var all []Variation
	for _, c := range constants {
		seen := []string{c.At(1)}
		for _, scale := range scales {
			value := c.At(scale)
			if slices.Contains(seen, value) {
				continue
			}
			seen = append(seen, value)
			for _, of := range cases {
				varied, err := of.with(c.Name + "=" + value)
				if err != nil {
					return nil, err
				}
				all = append(all, Variation{c, scale, value, varied, of.Label})
			}
		}
	}
	return all, nil
}

// Effect is what a variation does to a metric: the ratio to the default, seed by
// seed.
type Effect struct {
	Variation
	Interval
}

// Effects compares the variations' rows with those of the cases they are of, all
// of the scheduler Spazio, in the variations' order.
func Effects(variations []Variation, rows []Row, metric string) []Effect {
	byLabel := map[string][]Row{}
	for _, r := range rows {
		if r.Scheduler == Spazio && r.Metric == metric {
			byLabel[r.Experiment] = append(byLabel[r.Experiment], r)
		}
	}
	var effects []Effect
	for _, v := range variations {
		var pair []Row
		for _, r := range byLabel[v.Of] {
			r.Scheduler = Default
			pair = append(pair, r)
		}
		for _, r := range byLabel[v.Case.Label] {
			r.Experiment = v.Of
			pair = append(pair, r)
		}
		for _, l := range Ratios(pair, Default) {
			if l.Scheduler == Spazio {
				effects = append(effects, Effect{v, l.Interval})
			}
		}
	}
	return effects
}

// Size is the distance of the ratio from 1 on a logarithmic scale.
func (e Effect) Size() float64 { return math.Abs(math.Log(e.Mean)) }

// Sensitivity is what is known of one constant.
type Sensitivity struct {
	Constant Constant
	// Effects are all of the constant, Worst the largest of them.
	Effects []Effect
	Worst   Effect
}

// Sensitivities joins the effects of each constant, that of the largest effect
// first.
func Sensitivities(effects []Effect) []Sensitivity {
	index := map[string]int{}
	var all []Sensitivity
	for _, e := range effects {
		i, ok := index[e.Constant.Name]
		if !ok {
			i = len(all)
			index[e.Constant.Name] = i
			all = append(all, Sensitivity{Constant: e.Constant, Worst: e})
		}
		s := &all[i]
		s.Effects = append(s.Effects, e)
		if e.Size() > s.Worst.Size() {
			s.Worst = e
		}
	}
	slices.SortStableFunc(all, func(a, b Sensitivity) int { return cmp.Compare(b.Worst.Size(), a.Worst.Size()) })
	return all
}
