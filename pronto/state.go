package pronto

import (
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// StateVersion is the version of State. It changes with the meaning of a field.
const StateVersion = 1

// State is all that a Tracker has learnt, as plain data for storage. A Tracker of
// the same Config that goes on from it gives the same signals, bit for bit.
type State struct {
	// Version is StateVersion.
	Version int
	// Dim is the number of channels, 0 before the first sample or model.
	Dim int
	// At is the time of the newest sample, zero before the first. Raised reports
	// that R has reached Config.Reject, RaisedAt when it did last.
	At       time.Time
	Raised   bool      `json:",omitempty"`
	RaisedAt time.Time `json:",omitzero"`
	// Block is the block being filled, sample after sample of one value a channel.
	Block []float64 `json:",omitempty"`
	// Model is that of the node's own samples, and Adopted what replaces its
	// directions; each has Dim 0 where there is none.
	Model   svd.State
	Adopted svd.State `json:",omitzero"`
	// Windows are what the detectors remember, one a direction: a ring of
	// projections, of which all are set if Full, and otherwise the first Next. Next
	// is the place of the next one.
	Windows [][]float64 `json:",omitempty"`
	Next    int
	Full    bool
}

// State returns a copy of all that t has learnt.
func (t *Tracker) State() State {
	s := State{
		Version: StateVersion, Dim: t.dim, At: t.last, Raised: t.wasRaised, RaisedAt: t.raised,
		Model: t.local.State(), Adopted: t.fleet.State(),
	}
	for _, y := range t.block[:t.samples] {
		s.Block = append(s.Block, y...)
	}
	for _, d := range t.detectors[:t.basis.rank()] {
		s.Windows = append(s.Windows, slices.Clone(d.values[:d.len()]))
		s.Next, s.Full = d.next, d.full
	}
	return s
}

// FromState returns a Tracker that goes on from s, which is copied. The error is
// that of Config.Validate, or a *field.Error for a State that no Tracker of this
// Config can have had.
func FromState(c Config, s State) (*Tracker, error) {
	t, err := New(c)
	if err != nil {
		return nil, err
	}
	if err := t.restore(s); err != nil {
		return nil, within("State", err)
	}
	return t, nil
}

func (t *Tracker) restore(s State) (err error) {
	switch {
	case s.Version != StateVersion:
		return &field.Error{Package: "pronto", Field: "Version", Value: s.Version, Err: ErrRange}
	case s.Dim < 0 || s.Dim > svd.MaxDim || s.Dim > 0 && t.config.Model.Rank > s.Dim:
		return &field.Error{Package: "pronto", Field: "Dim", Value: s.Dim, Err: ErrRange}
	}
	t.dim, t.last, t.wasRaised, t.raised = s.Dim, s.At, s.Raised, s.RaisedAt
	if t.local, err = s.model("Model", s.Model); err != nil {
		return err
	}
	if t.fleet, err = s.model("Adopted", s.Adopted); err != nil {
		return err
	}
	if err := t.restoreBlock(s.Block); err != nil {
		return err
	}
	t.rebase()
	return t.restoreWindows(s)
}

// model returns one of the models of s, empty if there is none.
func (s State) model(name string, from svd.State) (svd.Model, error) {
	if from.Dim == 0 {
		return svd.Model{}, nil
	}
	m, err := svd.FromState(from)
	switch {
	case err != nil:
		return m, &field.Error{Package: "pronto", Field: name, Value: fmt.Sprintf("%d channels", from.Dim), Err: err}
	case m.Dim() != s.Dim:
		return m, &field.Error{Package: "pronto", Field: name + ".Dim", Value: m.Dim(), Err: ErrLength}
	case !m.Centred():
		return m, &field.Error{Package: "pronto", Field: name + ".Centred", Value: false, Err: ErrCentring}
	}
	return m, nil
}

func (t *Tracker) restoreBlock(values []float64) error {
	if len(values) == 0 {
		return nil
	}
	if t.dim == 0 || len(values)%t.dim != 0 || len(values) >= t.size()*t.dim {
		return &field.Error{Package: "pronto", Field: "len(Block)", Value: len(values), Err: ErrLength}
	}
	for i, v := range values {
		if err := t.valueError(v); err != nil {
			return &field.Error{Package: "pronto", Field: fmt.Sprintf("Block[%d]", i), Value: v, Err: err}
		}
	}
	for y := range slices.Chunk(values, t.dim) {
		t.gather(y)
	}
	return nil
}

// restoreWindows is for detectors that remember nothing yet.
func (t *Tracker) restoreWindows(s State) error {
	if len(s.Windows) != t.basis.rank() {
		return &field.Error{Package: "pronto", Field: "len(Windows)", Value: len(s.Windows), Err: ErrLength}
	}
	lag := t.config.Detector.lag()
	if s.Next < 0 || s.Next >= lag {
		return &field.Error{Package: "pronto", Field: "Next", Value: s.Next, Err: ErrRange}
	}
	seen := s.Next
	if s.Full {
		seen = lag
	}
	for j, values := range s.Windows {
		if len(values) != seen {
			return &field.Error{Package: "pronto", Field: fmt.Sprintf("len(Windows[%d])", j), Value: len(values), Err: ErrLength}
		}
		for i, v := range values {
			if err := sampleError(v); err != nil {
				return &field.Error{Package: "pronto", Field: fmt.Sprintf("Windows[%d][%d]", j, i), Value: v, Err: err}
			}
		}
		d := &t.detectors[j]
		copy(d.values, values)
		d.next, d.full = s.Next, s.Full
		d.sum()
	}
	return nil
}
