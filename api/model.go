package api

import (
	"fmt"
	"slices"
	"strings"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// energySlack forgives what rounding adds to a model of full channels.
const energySlack = 1e-6

// fromModel converts a model for the wire; the energy that truncation left out does
// not travel.
func fromModel(s svd.State) *spaziov1.Model {
	return &spaziov1.Model{
		Dim:   uint32(s.Dim),
		Block: uint32(s.Block),
		Mass:  s.Mass,
		U:     slices.Clone(s.U),
		Sigma: slices.Clone(s.Sigma),
		Mean:  slices.Clone(s.Mean),
	}
}

// checkModel refuses a model from the wire. Errors are *field.Error. A model is
// one of samples in [0,1]: besides being valid by svd.State.Validate its
// energy, the sum of sigma squared, is at most block x dim, and its mean, if it is
// centred, in [0,1]. So no node can outweigh another by size.
func checkModel(m *spaziov1.Model) error {
	if m == nil {
		return refuse("model", nil, ErrMissing)
	}
	if dim := m.GetDim(); dim > MaxChannels {
		return under("model", refuse("dim", dim, fmt.Errorf("%w: 1 to %d", ErrRange, MaxChannels)))
	}
	if block := m.GetBlock(); block > maxBlock {
		return under("model", refuse("block", block, fmt.Errorf("%w: 1 to %d", ErrRange, maxBlock)))
	}
	if err := view(m).Validate(); err != nil {
		name, value, cause := svd.Refused(err)
		name = strings.NewReplacer("len(", "", ")", "").Replace(name) // as the api names what is too long
		return under("model", refuse(strings.ToLower(name), value, cause))
	}
	if err := checkMean(m.GetMean()); err != nil {
		return under("model", err)
	}
	var energy float64
	for _, sigma := range m.GetSigma() {
		energy += sigma * sigma
	}
	if most := float64(m.GetBlock()) * float64(m.GetDim()); !(energy <= most*(1+energySlack)) {
		return under("model", refuse("sigma", m.GetSigma(), fmt.Errorf("%w: the sum of squares is at most block x dim = %g", ErrRange, most)))
	}
	return nil
}

// checkMean accepts that of samples in [0,1].
func checkMean(mean []float64) error {
	for i, v := range mean {
		if !(v >= -energySlack && v <= 1+energySlack) {
			return checkRange(fmt.Sprintf("mean[%d]", i), v, 0, 1)
		}
	}
	return nil
}

// view is m as a State that shares its slices. The bounds of uint32 fields
// are checked before, as int may be narrower.
func view(m *spaziov1.Model) svd.State {
	return svd.State{Dim: int(m.GetDim()), Block: int(m.GetBlock()), Mass: m.GetMass(), U: m.GetU(), Sigma: m.GetSigma(), Mean: m.GetMean()}
}
