package svd

import (
	"fmt"
	"math"
)

// Defaults of Options.
const (
	// DefaultBlock is one second of samples at 10 Hz (thesis §4.2).
	DefaultBlock = 10
	// DefaultRank bounds the rank if Options.Rank is 0. Up to this dimension
	// nothing is truncated, which keeps u₁ non-negative.
	DefaultRank = 16
	// DefaultWeight is α and β: a block halves the energy of the past.
	DefaultWeight = 1
)

// Options of an update. The zero value is the documented default. Options are
// a plain value, only read here, that any number of goroutines may share.
type Options struct {
	// Rank is r, the number of singular values kept, in [1, d]; 0 means
	// min(d, DefaultRank). With 1 < r < d the direction u₁ of non-negative
	// samples may come to have negative components; with r = 1 or d it cannot.
	Rank int
	// Block is b, the number of samples of a full block, in [1, MaxBlock];
	// 0 means DefaultBlock.
	Block int
	// Alpha and Beta are the weights α of the past and β of the new block
	// (thesis eq. 3.6), in [1e-6, 1e6]; 0 means 1. Only their ratio counts:
	// the past's mass decays by w = α/(α+β) a block. Both 0: w = ½.
	Alpha, Beta float64
	// HalfLife sets w = 2^(−1/HalfLife) instead: the number of blocks after
	// which a block counts half as much, in [1e-6, 1e6]. It excludes
	// Alpha and Beta; 0 leaves w to them.
	HalfLife float64
	// EnergyLow and EnergyHigh adapt the rank, of which Rank is then the upper
	// bound, so that the share of the energy that is explained stays within
	// the two: 0 < EnergyLow ≤ EnergyHigh ≤ 1. See [Model.Explained]. Both 0:
	// the rank is Rank.
	EnergyLow, EnergyHigh float64
	// Centre decomposes the samples less their running mean, as PCA and
	// Pronto do: σ₁/√b is then the standard deviation along u₁, not a load.
	Centre bool
	// Unit rejects samples outside [0, 1].
	Unit bool
}

// Validate returns an error for the first field that is out of range. The
// upper bound of Rank is checked by the update, which knows d.
func (o Options) Validate() error {
	switch {
	case o.Rank < 0 || o.Rank > MaxDim:
		return refuse("Rank", o.Rank, ErrRange)
	case o.Block < 0 || o.Block > MaxBlock:
		return refuse("Block", o.Block, ErrRange)
	case !weight(o.Alpha):
		return refuse("Alpha", o.Alpha, ErrRange)
	case !weight(o.Beta):
		return refuse("Beta", o.Beta, ErrRange)
	case !weight(o.HalfLife):
		return refuse("HalfLife", o.HalfLife, ErrRange)
	case o.HalfLife > 0 && (o.Alpha > 0 || o.Beta > 0):
		return refuse("HalfLife", o.HalfLife, ErrRange)
	case !(o.EnergyLow >= 0 && o.EnergyLow <= 1) || o.EnergyLow == 0 && o.EnergyHigh != 0:
		return refuse("EnergyLow", o.EnergyLow, ErrRange)
	case !(o.EnergyHigh >= o.EnergyLow && o.EnergyHigh <= 1):
		return refuse("EnergyHigh", o.EnergyHigh, ErrRange)
	}
	return nil
}

// weight reports whether v can be a weight or stand for its default. The bounds
// keep α/(α+β) within (0, 1) in floating point.
func weight(v float64) bool { return v == 0 || v >= 1e-6 && v <= 1e6 }

// forgetting returns w, the share of the past's mass that a block leaves.
func (o Options) forgetting() float64 {
	if o.HalfLife > 0 {
		return math.Exp2(-1 / o.HalfLife)
	}
	alpha, beta := orDefault(o.Alpha, DefaultWeight), orDefault(o.Beta, DefaultWeight)
	return alpha / (alpha + beta)
}

func orDefault[T int | float64](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Update returns m after one block of samples, 1 to b of them, each with d
// values:
//
//	m' = w·m + b'/b
//	U'Σ'Vᵀ = svd([√(w·m/m')·UΣ  √(1/m')·A])
//
// A is the d×b' matrix of the samples (thesis eq. 3.6). It is the [Merge] of
// what forgetting leaves of m with the model of the block alone. A model
// stated for another block size is restated.
// With [Options].Centre it is the update of incremental PCA (see the package
// doc); a centred model takes no other, and no other model takes it.
//
// An error reports the first invalid argument.
func Update(m Model, samples [][]float64, opt Options) (Model, error) {
	var next Model
	if err := UpdateTo(&next, m, samples, opt, nil); err != nil {
		return Model{}, err
	}
	return next, nil
}

// UpdateTo is [Update] into dst, in dst's own storage; dst may be the model
// being updated. It does not allocate once dst and ws have grown; a nil ws
// stands for a new one. dst is unchanged if an error is returned.
func UpdateTo(dst *Model, m Model, samples [][]float64, opt Options, ws *Workspace) error {
	if dst == nil {
		return refuse("dst", nil, ErrRange)
	}
	if err := opt.Validate(); err != nil {
		return err
	}
	block := orDefault(opt.Block, DefaultBlock)
	dim, largest, err := checkSamples(m, samples, block, opt.Unit)
	if err != nil {
		return err
	}
	if m.Centred() != opt.Centre && !m.empty() {
		return refuse("Centre", len(m.mean), ErrCentring)
	}
	rank := orDefault(opt.Rank, min(dim, DefaultRank))
	if rank > dim {
		return refuse("Rank", rank, ErrRange)
	}
	if ws == nil {
		ws = new(Workspace)
	}

	if m.empty() {
		m = Model{dim: dim}
	}
	w := opt.weigh(m, len(samples), block)
	if w.mass > MaxMass {
		return refuse("Mass", w.mass, ErrRange)
	}
	residual := w.past * w.past * m.residual
	if opt.Centre {
		ws.updateCentred(m, samples, w, block)
	} else {
		factor, unit := balance(max(w.past*m.Sigma(0), w.present*largest))
		first := ws.begin(m, w.past*factor, len(samples))
		ws.appendSamples(samples, w.present*factor, first)
		ws.decompose(unit)
	}
	if opt.EnergyLow > 0 {
		rank = ws.adapt(len(m.sigma), rank, residual, opt)
	}
	ws.store(dst, rank, block, w.mass, residual)
	return nil
}

// weights are the factors of an update.
type weights struct {
	past    float64 // of UΣ
	present float64 // of a sample
	share   float64 // of the past in the mass
	mass    float64 // not a factor: the mass after the update
}

// weigh returns the weights of a block of n samples, which bring a mass of
// n/b beside the w·m that is left of m's.
func (o Options) weigh(m Model, n, block int) weights {
	factor, old := m.restate(block)
	old *= o.forgetting()
	mass := old + float64(n)/float64(block)
	return weights{
		past:    math.Sqrt(old/mass) * factor,
		present: 1 / math.Sqrt(mass),
		share:   old / mass,
		mass:    mass,
	}
}

// checkSamples returns the dimension of the block and its largest magnitude.
func checkSamples(m Model, samples [][]float64, block int, unit bool) (dim int, largest float64, err error) {
	if len(samples) == 0 || len(samples) > block {
		return 0, 0, refuse("len(samples)", len(samples), ErrLength)
	}
	dim = m.dim
	if dim == 0 {
		dim = len(samples[0])
	}
	for j, y := range samples {
		if len(y) != dim || dim < 1 || dim > MaxDim {
			return 0, 0, refuse(fmt.Sprintf("len(samples[%d])", j), len(y), ErrLength)
		}
		for i, v := range y {
			size := math.Abs(v)
			if !(size <= MaxMagnitude) || unit && !(v >= 0 && v <= 1) {
				return 0, 0, refuseSample(j, i, v)
			}
			if size > largest {
				largest = size
			}
		}
	}
	return dim, largest, nil
}

func refuseSample(sample, channel int, v float64) error {
	return refuse(fmt.Sprintf("samples[%d][%d]", sample, channel), v, rangeOrFinite(v))
}

// rangeOrFinite returns the cause to name for a value that was rejected.
func rangeOrFinite(v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ErrNotFinite
	}
	return ErrRange
}
