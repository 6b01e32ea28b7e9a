package pronto

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// Signal is what a Tracker says of a sample.
type Signal struct {
	// R is the rejection signal, the share of the weight of all directions that are
	// at a peak: in [0, 1], or in [−1, 1] if Config.Signed.
	R float64
	// Raised is whether R has reached Config.Reject with this very sample, and Reject
	// whether the node asks for no more work: R has, now or within Config.Window.
	Raised, Reject bool
	// Flags has the detector's word on each direction: −1, 0 or 1.
	Flags []int8
	// Projection is v = Uᵀy, the sample in the directions of the model. Flags and
	// Projection are empty until there is a model, which takes the first block.
	Projection []float64
}

// Decided returns the direction, counted from 0, that weighs most among those
// that are flagged, and false if none is. Directions come by descending weight.
func (s Signal) Decided() (direction int, ok bool) {
	for j, f := range s.Flags {
		if f != 0 {
			return j, true
		}
	}
	return 0, false
}

// Tracker turns a node's samples into Pronto's rejection signal. Each block of
// samples updates a model of their principal directions; each sample is projected
// on them, a detector a direction looks for peaks, and the peaks, weighed by their
// direction's singular value, are the signal.
//
// Whenever the directions change, by a block or by [Tracker.Adopt], what the
// detectors remember is turned into the new ones: v' = U'ᵀU·v. So a change of the
// model is no peak. It is exact if nothing is truncated; otherwise what was
// outside the former directions is missing from the new.
//
// A Tracker is for one goroutine.
type Tracker struct {
	config    Config
	reject    float64
	dim       int
	last      time.Time
	raised    time.Time // when R last reached reject
	wasRaised bool

	// block are the samples since the last update, columns of which storage is
	// kept.
	block   [][]float64
	samples int
	local   svd.Model
	ws      svd.Workspace

	// basis is what samples are projected on: the local model or, if adopted, what
	// the fleet knows.
	basis     basis
	former    basis
	fleet     svd.Model // what was adopted, empty if nothing was
	detectors []detector
	turn, row []float64
}

// New returns a Tracker that has seen nothing. The error is that of
// [Config.Validate].
func New(c Config) (*Tracker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Model.Centre = true
	t := &Tracker{config: c, reject: c.Reject}
	if t.reject == 0 {
		t.reject = DefaultReject
	}
	return t, nil
}

// Step takes the sample y of a time and returns what it says. The first sample
// sets the number of channels, at most svd.MaxDim, and times may not go back. A
// *field.Error names what was rejected, and nothing has changed.
func (t *Tracker) Step(at time.Time, y []float64) (Signal, error) {
	var s Signal
	err := t.StepTo(&s, at, y)
	return s, err
}

// StepTo is Step into the storage of dst. It does not allocate once that and the
// Tracker have grown. dst is unchanged if an error is returned.
func (t *Tracker) StepTo(dst *Signal, at time.Time, y []float64) error {
	if err := t.check(at, y); err != nil {
		return err
	}
	t.last, t.dim = at, len(y)
	dst.Projection = t.basis.project(dst.Projection[:0], y)
	dst.Flags = dst.Flags[:0]
	for j, v := range dst.Projection {
		dst.Flags = append(dst.Flags, t.detectors[j].step(v))
	}
	dst.R = t.weigh(dst.Flags)
	dst.Raised = dst.R >= t.reject
	if dst.Raised {
		t.raised, t.wasRaised = at, true
	}
	dst.Reject = t.wasRaised && at.Sub(t.raised) <= t.config.Window
	return t.learn(y)
}

// Check returns the error that StepTo would, and changes nothing.
func (t *Tracker) Check(at time.Time, y []float64) error { return t.check(at, y) }

func (t *Tracker) check(at time.Time, y []float64) error {
	if at.Before(t.last) {
		return &field.Error{Package: "pronto", Field: "at", Value: at, Err: ErrTime}
	}
	if len(y) == 0 || len(y) > svd.MaxDim || t.dim != 0 && len(y) != t.dim {
		return &field.Error{Package: "pronto", Field: "len(y)", Value: len(y), Err: ErrLength}
	}
	if rank := t.config.Model.Rank; rank > len(y) {
		return &field.Error{Package: "pronto", Field: "Model.Rank", Value: rank, Err: fmt.Errorf("%w: %d channels", ErrRange, len(y))}
	}
	for i, v := range y {
		if err := t.valueError(v); err != nil {
			return &field.Error{Package: "pronto", Field: fmt.Sprintf("y[%d]", i), Value: v, Err: err}
		}
	}
	return nil
}

// valueError is what is wrong with a channel's value.
func (t *Tracker) valueError(v float64) error {
	if err := sampleError(v); err != nil {
		return err
	}
	if t.config.Model.Unit && (v < 0 || v > 1) {
		return ErrRange
	}
	return nil
}

// weigh returns R.
func (t *Tracker) weigh(flags []int8) float64 {
	var flagged, all float64
	for j, f := range flags {
		w := t.basis.sigma[j]
		if t.config.Weight == WeightEnergy {
			w *= w
		}
		all += w
		if !t.config.Signed && f < 0 {
			f = 1
		}
		flagged += w * float64(f)
	}
	if t.config.Weight == WeightEnergy {
		all += t.basis.residual
	}
	if all == 0 {
		return 0
	}
	return flagged / all
}

// learn puts a sample into the block, and a full block into the model.
func (t *Tracker) learn(y []float64) error {
	if t.gather(y); t.samples < t.size() {
		return nil
	}
	t.samples = 0
	if err := svd.UpdateTo(&t.local, t.local, t.block[:t.size()], t.config.Model, &t.ws); err != nil {
		return &field.Error{Package: "pronto", Field: "Model", Value: fmt.Sprintf("%d channels", t.dim), Err: err} // of no sample that passed check
	}
	if !t.Adopted() {
		t.rebase()
	}
	return nil
}

// size is that of a full block.
func (t *Tracker) size() int {
	if t.config.Model.Block == 0 {
		return svd.DefaultBlock
	}
	return t.config.Model.Block
}

// gather puts a sample into the block.
func (t *Tracker) gather(y []float64) {
	if t.samples == len(t.block) {
		t.block = append(t.block, make([]float64, len(y)))
	}
	copy(t.block[t.samples], y)
	t.samples++
}

// Reset forgets what the detectors remember and the block being filled, as after a
// time without samples: earlier samples say nothing about the next ones.
// The models and a standing rejection stay.
func (t *Tracker) Reset() {
	t.samples = 0
	for j := range t.detectors {
		t.detectors[j].reset()
	}
}

// Model returns the model of this node's own samples: what a fleet merges. It
// shares no storage with the Tracker, and is empty before the first block.
func (t *Tracker) Model() svd.Model { return t.local.Clone() }

// SigmaTo writes the singular values of the directions that samples are projected on,
// in descending order, to dst and returns it, grown as append does: this node's own or,
// after [Tracker.Adopt], the adopted model's.
func (t *Tracker) SigmaTo(dst []float64) []float64 { return append(dst[:0], t.basis.sigma...) }

// VectorTo writes direction j of those that samples are projected on, counted from 0,
// to dst and returns it with a value a channel, grown as append does; with none if
// there is no such direction.
func (t *Tracker) VectorTo(dst []float64, j int) []float64 {
	if j < 0 || j >= t.basis.rank() {
		return dst[:0]
	}
	return append(dst[:0], t.basis.u[j*t.basis.dim:(j+1)*t.basis.dim]...)
}

// Adopt replaces the directions and their weights by those of m, a centred model
// of as many channels, such as the fleet's or a blend of it with [Tracker.Model].
// They stay until the next Adopt; the node's own model goes on learning. An empty
// model returns to it. The error is a *field.Error, and then nothing has changed.
func (t *Tracker) Adopt(m svd.Model) error {
	switch {
	case m.Dim() == 0:
		t.fleet = svd.Model{}
		t.rebase()
		return nil
	case !m.Centred():
		return &field.Error{Package: "pronto", Field: "m.Centred", Value: false, Err: ErrCentring}
	case t.dim != 0 && m.Dim() != t.dim:
		return &field.Error{Package: "pronto", Field: "m.Dim", Value: m.Dim(), Err: ErrLength}
	case t.dim == 0 && t.config.Model.Rank > m.Dim():
		return &field.Error{Package: "pronto", Field: "m.Dim", Value: m.Dim(), Err: fmt.Errorf("%w: Model.Rank is %d", ErrLength, t.config.Model.Rank)}
	}
	t.dim, t.fleet = m.Dim(), m.Clone()
	t.rebase()
	return nil
}

// Adopted reports whether the directions are those of [Tracker.Adopt].
func (t *Tracker) Adopted() bool { return t.fleet.Dim() != 0 }

// rebase makes the directions of what was adopted, or else of the own model, the
// basis and turns the detectors' memory into it.
func (t *Tracker) rebase() {
	t.former, t.basis = t.basis, t.former
	if t.Adopted() {
		t.basis.set(t.fleet)
	} else {
		t.basis.set(t.local)
	}
	now, was := t.basis.rank(), t.former.rank()
	for len(t.detectors) < now {
		t.detectors = append(t.detectors, newDetector(t.config.Detector))
	}
	if was == 0 {
		for j := range t.detectors {
			t.detectors[j].reset()
		}
		return
	}
	seen := t.detectors[0].len()
	for j := was; j < now; j++ { // in step with the others
		d := &t.detectors[j]
		d.next, d.full = t.detectors[0].next, t.detectors[0].full
	}
	t.turn = t.basis.times(t.turn[:0], t.former)
	for i := range seen {
		t.turnValue(i, now, was)
	}
	for j := range t.detectors[:now] {
		t.detectors[j].sum()
	}
}

// turnValue turns the i-th value in the detectors' rings.
func (t *Tracker) turnValue(i, now, was int) {
	t.row = t.row[:0]
	for j := range was {
		t.row = append(t.row, t.detectors[j].values[i])
	}
	for k := range now {
		var v float64
		for j, old := range t.row {
			v += t.turn[k*was+j] * old
		}
		// A turn of values within bounds may leave them by √d.
		t.detectors[k].values[i] = min(max(v, -MaxMagnitude), MaxMagnitude)
	}
}

// basis is the directions of a model in a form that is quick to project on.
type basis struct {
	dim      int
	u        []float64 // column by column
	sigma    []float64
	residual float64
	column   []float64
}

func (b *basis) rank() int { return len(b.sigma) }

func (b *basis) set(m svd.Model) {
	b.dim, b.residual = m.Dim(), m.Residual()
	b.u, b.sigma = b.u[:0], b.sigma[:0]
	for j := range m.Rank() {
		b.column = m.VectorTo(b.column, j)
		b.u = append(b.u, b.column...)
		b.sigma = append(b.sigma, m.Sigma(j))
	}
}

// project appends Uᵀy to dst.
func (b *basis) project(dst, y []float64) []float64 {
	for j := range b.rank() {
		dst = append(dst, dot(b.u[j*b.dim:(j+1)*b.dim], y))
	}
	return dst
}

// times appends UᵀV to dst, row by row, V being o's directions.
func (b *basis) times(dst []float64, o basis) []float64 {
	for j := range b.rank() {
		dst = o.project(dst, b.u[j*b.dim:(j+1)*b.dim])
	}
	return dst
}

func dot(a, b []float64) float64 {
	var s float64
	for i, v := range a {
		s += v * b[i]
	}
	return s
}
