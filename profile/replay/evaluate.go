package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// Resource is what a series measures.
type Resource uint8

// Resources: cores and bytes.
const (
	CPU Resource = iota
	Memory
)

// String is cpu or memory.
func (r Resource) String() string {
	if r == CPU {
		return "cpu"
	}
	return "memory"
}

// Series is what one job took, in cores or bytes, in the order of time. It is a
// plain value, safe for concurrent reading.
type Series struct {
	Name     string
	Resource Resource
	Times    []time.Time
	Values   []float64
}

// validate refuses a series that is no course of time.
func (s Series) validate() error {
	if len(s.Times) != len(s.Values) {
		return refuse(s.Name+".Times", len(s.Times), "as many as values")
	}
	for i, v := range s.Values {
		if !(v >= 0) || math.IsInf(v, 1) {
			return refuse(s.Name+".Values", v, "finite and not negative")
		}
		if i > 0 && !s.Times[i].After(s.Times[i-1]) {
			return refuse(s.Name+".Times", s.Times[i], "after the one before")
		}
	}
	return nil
}

// window is how far a prediction reaches.
const window = 30 * time.Minute

// Options say what is predicted. It is a plain value, safe for concurrent reading.
type Options struct {
	// WarmUp is how long a predictor only observes; 0 means 2 days.
	WarmUp time.Duration
	// HeldOut replays the second half of each series as if it were all there is: the
	// presets were tuned on first halves.
	HeldOut bool
	// Own, unless nil, is a preset that Curves evaluates after the others.
	Own *profile.Preset
	// Progress, unless nil, is called by Curves as each of all predictors is done.
	Progress func(done, all int)
}

func (o Options) validate() error {
	switch {
	case o.WarmUp < 0:
		return refuse("Options.WarmUp", o.WarmUp, "not negative")
	case o.Own != nil:
		return o.Own.Validate()
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.WarmUp = cmp.Or(o.WarmUp, 48*time.Hour)
	return o
}

// of returns what of a series is replayed.
func (o Options) of(s Series) Series {
	if o.HeldOut {
		half := len(s.Values) / 2
		s.Times, s.Values = s.Times[half:], s.Values[half:]
	}
	return s
}

// Score is how well predictions held. It is a plain value, safe for concurrent
// reading.
type Score struct {
	// Quality is the share of predictions that held, of all series together.
	Quality float64 `json:"quality"`
	// Overhead is Σ(prediction − mean)/Σ mean over all predictions, OverheadMean
	// the mean over the series of each one's own, which large jobs don't rule.
	Overhead     float64 `json:"overhead"`
	OverheadMean float64 `json:"overheadMean"`
	// Pinball is the loss at .98 of the predictions for the largest value of the
	// window, as a share of Σ mean.
	Pinball float64 `json:"pinball"`
	// N is the number of predictions.
	N int `json:"n"`
}

const (
	pinballAt = .98
	// leastMean is the sum of the means, in cores or bytes, below which a series took
	// nothing: a ratio to it says nothing and may be infinite.
	leastMean = 1e-9
)

// errorSums sums up the predictions of one series.
type errorSums struct {
	n, good               int
	predicted, mean, loss float64
}

func (t *errorSums) add(prediction, mean, largest float64) {
	t.n++
	if largest <= prediction {
		t.good++
		t.loss += (1 - pinballAt) * (prediction - largest)
	} else {
		t.loss += pinballAt * (largest - prediction)
	}
	t.predicted += prediction
	t.mean += mean
}

func (t *errorSums) merge(o errorSums) {
	t.n, t.good = t.n+o.n, t.good+o.good
	t.predicted, t.mean, t.loss = t.predicted+o.predicted, t.mean+o.mean, t.loss+o.loss
}

// ErrShort reports that no series is long enough for a prediction, or that each has no two
// samples within a window; match it with errors.Is.
var ErrShort = errors.New("no prediction could be made")

// lengths reports how long series are, and how far apart their samples.
func lengths(s []Series, o Options) string {
	var longest, apart time.Duration
	for _, s := range s {
		if s = o.of(s); len(s.Times) > 1 {
			length := s.Times[len(s.Times)-1].Sub(s.Times[0])
			longest, apart = max(longest, length), max(apart, length/time.Duration(len(s.Times)-1))
		}
	}
	return fmt.Sprintf("the longest of %d lasts %v, with a sample in %v, and a warm-up of %v and a window of %v are needed",
		len(s), longest, apart.Round(time.Millisecond), o.WarmUp, window)
}

// evaluateEach replays each series through a predictor of its own. Series too short
// for a prediction count for nothing.
func evaluateEach(ctx context.Context, s []Series, p predictor, o Options) ([]errorSums, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	sums := make([]errorSums, len(s))
	for i, s := range s {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if sums[i], err = evaluate(o.of(s), p, o); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// score is that of all series but one; without any prediction its N is 0. A job that
// takes nothing adds to the sums and has no overhead of its own.
func score(sums []errorSums, without int) Score {
	var all errorSums
	var ratios float64
	var rated int
	for i, t := range sums {
		if i == without {
			continue
		}
		if t.mean > leastMean {
			ratios += t.predicted/t.mean - 1
			rated++
		}
		all.merge(t)
	}
	score := Score{N: all.n}
	if all.n > 0 {
		score.Quality = float64(all.good) / float64(all.n)
	}
	if rated > 0 {
		score.Overhead, score.OverheadMean = all.predicted/all.mean-1, ratios/float64(rated)
		score.Pinball = all.loss / all.mean
	}
	return score
}

// Prediction is one that was made at a sample, with what came in the window behind it. It
// is a plain value.
type Prediction struct {
	At time.Time
	// Usage is the sample, Predicted what was predicted to be enough; Mean and Largest are
	// of the samples in the window.
	Usage, Predicted, Mean, Largest float64
}

// Held reports whether nothing in the window exceeded the prediction.
func (p Prediction) Held() bool { return p.Largest <= p.Predicted }

// Predictions are those of Options.Own, or else the default preset, on a series, as Curves
// counts them: none of a series too short for one.
func Predictions(s Series, o Options) (all []Prediction, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	preset := profile.Spazio()
	if o.Own != nil {
		preset = *o.Own
	}
	err = predict(o.of(s), of(preset), o, func(p Prediction) { all = append(all, p) })
	return all, err
}

func evaluate(s Series, p predictor, o Options) (t errorSums, err error) {
	err = predict(s, p, o, func(p Prediction) { t.add(p.Predicted, p.Mean, p.Largest) })
	return t, err
}

// predict replays a series and calls each for every prediction whose window is over.
func predict(s Series, p predictor, o Options, each func(Prediction)) error {
	if err := s.validate(); err != nil {
		return err
	}
	f, err := p.new(s.Resource)
	if err != nil {
		return err
	}
	end := 0
	for i, at := range s.Times {
		if err := f.observe(at, s.Values[i]); err != nil {
			return err
		}
		if at.Sub(s.Times[0]) < o.WarmUp {
			continue
		}
		if s.Times[len(s.Times)-1].Before(at.Add(window)) {
			return nil // the window is not over
		}
		for end < len(s.Times) && !s.Times[end].After(at.Add(window)) {
			end++
		}
		if end > i+1 { // no hole in the series
			mean, largest := summary(s.Values[i+1 : end])
			if f.foresee != nil {
				f.foresee(largest)
			}
			each(Prediction{at, s.Values[i], f.predict(at), mean, largest})
		}
	}
	return nil
}

func summary(values []float64) (mean, largest float64) {
	for _, v := range values {
		mean += v
		largest = max(largest, v)
	}
	return mean / float64(len(values)), largest
}

// predictor is a way to predict, by its name, with its parameter. Its new returns a forecaster for a job.
type predictor struct {
	name string
	new  func(Resource) (forecaster, error)
}

// forecaster learns from one job and predicts what will be enough for it, in the unit of the
// values observed. Times never go back. Each is used by one goroutine.
type forecaster struct {
	observe func(at time.Time, value float64) error
	// foresee, if set, is called before predict with the largest value to come.
	foresee func(largest float64)
	predict func(at time.Time) float64
}

// scale is the one a resource is kept on.
func (r Resource) scale() profile.Scale {
	if r == CPU {
		return profile.CPU
	}
	return profile.Memory
}

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "profile", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", profile.ErrInvalid, want)}
}
