package replay

import (
	"context"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// These are exported for tests of the package from outside.

type (
	Point     = point
	Predictor = predictor
)

func (p predictor) New(r Resource) (forecaster, error) { return p.new(r) }

func (f forecaster) Observe(at time.Time, value float64) error { return f.observe(at, value) }

func (f forecaster) Predict(at time.Time) float64 { return f.predict(at) }

// Always predicts one value.
func Always(v float64) Predictor {
	return predictor{"always", func(Resource) (forecaster, error) {
		return forecaster{
			observe: func(time.Time, float64) error { return nil },
			predict: func(time.Time) float64 { return v },
		}, nil
	}}
}

var (
	Of = of
)

var (
	ReadPrometheus = readPrometheus
)

// Literal predicts as the thesis is written.
func Literal() Predictor { return literal(profile.Seed()) }

// Evaluate is the score of a predictor on all series.
func Evaluate(s []Series, p Predictor, o Options) (Score, error) {
	sums, err := evaluateEach(context.Background(), s, p, o)
	return score(sums, -1), err
}

// Validate refuses a series that is no course of time.
func (s Series) Validate() error { return s.validate() }
