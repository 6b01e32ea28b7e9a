package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// rule returns a preset's rule for a resource.
func (r Resource) rule(p profile.Preset) (profile.Rule, error) {
	rule := p.CPU
	if r == Memory {
		rule = p.Memory
	}
	return rule, rule.Validate()
}

// of predicts as a preset recommends.
func of(p profile.Preset) predictor {
	return predictor{p.Name, func(r Resource) (forecaster, error) {
		rule, err := r.rule(p)
		if err != nil {
			return forecaster{}, err
		}
		h, err := profile.NewHistory(profile.HistoryConfig{Scale: r.scale(), HalfLife: rule.HalfLife})
		return forecaster{
			observe: func(at time.Time, value float64) error { return h.Add(at, value, 1) },
			predict: func(at time.Time) float64 { return h.Target(at, rule) },
		}, err
	}}
}

// literal predicts as the thesis is written: the values decay, and of what is left of
// them it takes a percentile of CPU and the peak of memory. The half-lives, percentile and
// margin of its preset hold, its slots do not.
func literal(p profile.Preset) predictor {
	return predictor{"seed-literal", func(r Resource) (forecaster, error) {
		rule, err := r.rule(p)
		d := &decayed{rule: rule}
		return forecaster{observe: d.observe, predict: d.predict}, err
	}}
}

// decayed keeps log₂ x + at/τ of each sample x in order: decay takes the same from
// all of them.
type decayed struct {
	rule  profile.Rule
	first time.Time
	keys  []float64
}

func (f *decayed) age(at time.Time) float64 {
	return float64(at.Sub(f.first)) / float64(f.rule.HalfLife)
}

func (f *decayed) observe(at time.Time, value float64) error {
	if len(f.keys) == 0 {
		f.first = at
	}
	key := math.Log2(value) + f.age(at)
	i, _ := slices.BinarySearch(f.keys, key)
	f.keys = slices.Insert(f.keys, i, key)
	return nil
}

func (f *decayed) predict(at time.Time) float64 {
	if len(f.keys) == 0 {
		return 0
	}
	i := len(f.keys) - 1
	if p := f.rule.Percentile; p > 0 {
		i = max(int(math.Ceil(p*float64(len(f.keys))))-1, 0)
	}
	return math.Exp2(f.keys[i]-f.age(at)) * (1 + f.rule.Margin)
}

// oracle predicts the largest sample that comes: no predictor that always holds
// takes less.
func oracle() predictor {
	return predictor{"oracle", func(Resource) (forecaster, error) {
		most := 0.
		return forecaster{
			observe: func(time.Time, float64) error { return nil },
			foresee: func(largest float64) { most = largest },
			predict: func(time.Time) float64 { return most },
		}, nil
	}}
}

// percentiles are those that curves are drawn over.
var percentiles = []float64{.3, .5, .6, .7, .8, .85, .9, .93, .95, .97, .98, .99, .995, .999, 1}

// Curve is a predictor with its percentile swept, and at its own. It is a plain
// value, safe for concurrent reading.
type Curve struct {
	Name     string   `json:"name"`
	resource Resource `json:"-"`
	// Own is the predictor as it is.
	Own Score `json:"own"`
	// Each is that by series, of those that are long enough for a prediction.
	Each []seriesScore `json:"each"`
	// Swept are its scores by percentile.
	Swept []point `json:"swept"`

	own   []errorSums
	swept [][]errorSums
}

// seriesScore is the score on a series. It is a plain value, safe for concurrent reading.
type seriesScore struct {
	Series string `json:"series"`
	Score
}

// scoreEach makes the scores by series.
func (c *Curve) scoreEach(s []Series) {
	for i, t := range c.own {
		if t.n > 0 {
			c.Each = append(c.Each, seriesScore{s[i].Name, score([]errorSums{t}, -1)})
		}
	}
}

// point is the score at a percentile. It is a plain value, safe for concurrent
// reading.
type point struct {
	Percentile float64 `json:"percentile"`
	Score
}

// Curves evaluates every preset, the default first, Options.Own, the thesis's literal form,
// and an oracle that knows what comes on the series of a resource. The error is that of
// ctx if it ends before, of the options or the series, or ErrShort.
func Curves(ctx context.Context, s []Series, r Resource, o Options) ([]Curve, error) {
	s = slices.DeleteFunc(slices.Clone(s), func(s Series) bool { return s.Resource != r })
	presets := profile.Presets()
	if o.Own != nil {
		presets = append(presets, *o.Own)
	}
	all, done := (len(presets)+1)*(1+len(percentiles))+1, 0
	each := func(p predictor) ([]errorSums, error) {
		sums, err := evaluateEach(ctx, s, p, o)
		if err == nil && len(s) > 0 && score(sums, -1).N == 0 {
			err = fmt.Errorf("%v: %w: %s", r, ErrShort, lengths(s, o.withDefaults()))
		}
		if done++; err == nil && o.Progress != nil {
			o.Progress(done, all)
		}
		return sums, err
	}
	var curves []Curve
	for _, p := range presets {
		c, err := curve(r, p, of, each)
		if err != nil {
			return nil, err
		}
		curves = append(curves, c)
	}
	written, err := curve(r, profile.Seed(), literal, each)
	if err != nil {
		return nil, err
	}
	best := Curve{Name: oracle().name, resource: r}
	if best.own, err = each(oracle()); err != nil {
		return nil, err
	}
	best.rate(-1)
	curves = append(curves, written, best)
	for i := range curves {
		curves[i].scoreEach(s)
	}
	return curves, nil
}

func curve(r Resource, p profile.Preset, of func(profile.Preset) predictor, each func(predictor) ([]errorSums, error)) (c Curve, err error) {
	c = Curve{Name: of(p).name, resource: r}
	if c.own, err = each(of(p)); err != nil {
		return c, err
	}
	p.CPU.Mean, p.Memory.Mean = false, false
	for _, percentile := range percentiles {
		p.CPU.Percentile, p.Memory.Percentile = percentile, percentile
		sums, err := each(of(p))
		if err != nil {
			return c, err
		}
		c.swept = append(c.swept, sums)
	}
	c.rate(-1)
	return c, nil
}

// rate makes the scores of all series but one.
func (c *Curve) rate(without int) {
	c.Own, c.Swept = score(c.own, without), nil
	for i, sums := range c.swept {
		c.Swept = append(c.Swept, point{percentiles[i], score(sums, without)})
	}
}

// Without is the curve over all series but one, by its number among those of the
// resource: what depends on one series is no finding.
func (c Curve) Without(series int) Curve {
	c.rate(series)
	return c
}

// OverheadAt is the curve's overhead at a quality, between the percentiles on
// either side: of its first point if that is better still, and NaN if the curve
// does not reach it.
func (c Curve) OverheadAt(quality float64) float64 {
	points := slices.SortedFunc(slices.Values(c.Swept), func(a, b point) int {
		switch {
		case a.Percentile < b.Percentile:
			return -1
		case a.Percentile > b.Percentile:
			return 1
		}
		return 0
	})
	for i, high := range points {
		if high.Quality < quality {
			continue
		}
		if i == 0 || high.Quality == quality {
			return high.Overhead
		}
		low := points[i-1]
		share := (quality - low.Quality) / (high.Quality - low.Quality)
		return low.Overhead + share*(high.Overhead-low.Overhead)
	}
	return math.NaN()
}
