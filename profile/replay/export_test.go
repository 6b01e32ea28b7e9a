package replay

import (
	"context"

	"github.com/spazio-scheduler/spazio/profile"
)

// These are exported for tests of the package from outside.

type (
	Point = point
)

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
