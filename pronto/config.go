package pronto

import (
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// Defaults and bounds of a Config.
const (
	// DefaultReject is θ: half of the weight of all directions.
	DefaultReject = .5
	// MaxWindow bounds how long a rejection may stand.
	MaxWindow = 24 * time.Hour
)

// Weight is what a flagged direction counts by. Both are stated as a share, so
// that the rejection signal is within [−1, 1] whatever the load.
type Weight int

const (
	// WeightSigma weighs by the singular value: R = Σ σ_j·f_j / Σ σ_j.
	WeightSigma Weight = iota
	// WeightEnergy weighs by the variance, over the trace of the covariance, what
	// truncation discarded included: R = Σ σ_j²·f_j / tr.
	WeightEnergy
)

// Config says what a Tracker takes for a rejection. The zero value is the
// documented default.
type Config struct {
	// Model are the options of the model's updates: rank, block, forgetting and the
	// bounds of energy. Centre is set whatever it says: Pronto's model is PCA.
	Model svd.Options
	// Detector says what a peak of a projection is.
	Detector DetectorConfig
	// Weight is what a flagged direction counts by.
	Weight Weight
	// Signed has a peak below the mean count against one above it, rather than as
	// one: the sign rule of svd makes a rise of most channels a peak above.
	Signed bool
	// Reject is θ, in (0, 1]: a sample with R ≥ θ raises a rejection; 0 means
	// DefaultReject.
	Reject float64
	// Window is how long a rejection stands after the last sample that raised it,
	// in [0, MaxWindow]; 0: that sample alone.
	Window time.Duration
}

// Validate returns a *field.Error for the first field that is out of range.
func (c Config) Validate() error {
	if err := c.Model.Validate(); err != nil {
		return &field.Error{Package: "pronto", Field: "Model", Value: c.Model, Err: err}
	}
	if err := c.Detector.validate(); err != nil {
		return within("Detector", err)
	}
	if c.Weight != WeightSigma && c.Weight != WeightEnergy {
		return &field.Error{Package: "pronto", Field: "Weight", Value: c.Weight, Err: ErrRange}
	}
	if c.Reject != 0 {
		if err := checkRange("Reject", c.Reject, math.SmallestNonzeroFloat64, 1); err != nil {
			return err
		}
	}
	if c.Window < 0 || c.Window > MaxWindow {
		return &field.Error{Package: "pronto", Field: "Window", Value: c.Window, Err: ErrRange}
	}
	return nil
}
