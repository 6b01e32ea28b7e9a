package aggregate

import (
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// Local is what one node says of its load.
type Local struct {
	// Caller is who says it, an address or an identity; what one caller says is
	// bounded (Options.CallerShare). Empty is nobody in particular, and only the
	// bounds of all apply.
	Caller string
	// Node names the node. (Incarnation, Sequence) orders its models across
	// restarts of its agent.
	Node                  string
	Incarnation, Sequence uint64
	// Schema identifies the ordered channels and their options.
	Schema string
	// Model is the node's own, with nothing of the global one in it. A centred one
	// has a mean in [0,1] and merges with centred ones alone.
	Model svd.State
	// Costs is empty or holds one entry a channel, before any pooling.
	Costs []Cost
}

// Cost is that of one pod in one channel, in the channel's absolute unit
// (cores, bytes).
type Cost struct {
	// Value is finite and > 0, its standard deviation SD finite and ≥ 0; they
	// mean nothing unless Known.
	Value, SD float64
	Known     bool
}

// Global is what the nodes of one schema and dimension have in common.
type Global struct {
	Schema string
	Dim    int
	// Model is the merged model, stated for Options.Block samples; centred if those
	// of the nodes are.
	Model svd.Model
	// Costs holds one entry a channel; Known if any node knows its cost.
	Costs []Cost
	// Nodes counts those not forgotten, Clipped those of them that lost weight
	// by Options.Clip.
	Nodes, Clipped int
	// Reach is how far from G a node may pull, per share of the weight, in
	// mean squares of a sample; see Sway.
	Reach float64
	// Kept is the share of the weight that clipping left, 1 if Clipped is 0.
	Kept float64
	// Ages are those of the nodes' newest pushes.
	Ages Ages
}

// Ages summarises the ages of the nodes' newest pushes.
type Ages struct{ Min, Median, Max time.Duration }

var (
	// ErrMissing refuses an empty name.
	ErrMissing = errors.New("missing")
	// ErrRange refuses a number that is not finite or out of its range.
	ErrRange = errors.New("out of range")
	// ErrLength refuses costs that are not one a channel.
	ErrLength = errors.New("wrong length")
	// ErrCentred refuses a centred model where the nodes of the schema push others, and
	// the other way round: one lacks what the other is about.
	ErrCentred = errors.New("centred and other models do not merge")
	// ErrFull refuses what is beyond Options.MaxNodes, MaxGroups or MaxBytes, or
	// beyond a caller's share of them. The *field.Error names which, and its value.
	ErrFull = errors.New("full")
	// ErrIndefinite refuses moments with negative energy in some direction.
	ErrIndefinite = errors.New("not positive semidefinite")
)

// Validate returns a *field.Error for the first field that is not as
// documented, or what svd.State.Validate refuses.
func (l Local) Validate() error {
	switch {
	case l.Node == "":
		return &field.Error{Package: "aggregate", Field: "Node", Value: `""`, Err: ErrMissing}
	case l.Schema == "":
		return &field.Error{Package: "aggregate", Field: "Schema", Value: `""`, Err: ErrMissing}
	}
	if err := l.Model.Validate(); err != nil {
		return fmt.Errorf("aggregate: Model: %w", err)
	}
	if err := validateMean("Model.Mean", l.Model.Mean); err != nil {
		return err
	}
	return validateCosts(l.Costs, l.Model.Dim)
}

// validateMean accepts that of samples in [0,1].
func validateMean(name string, mean []float64) error {
	for i, v := range mean {
		if !(v >= -traceSlack && v <= 1+traceSlack) {
			return &field.Error{Package: "aggregate", Field: fmt.Sprintf("%s[%d]", name, i), Value: v, Err: ErrRange}
		}
	}
	return nil
}

// validateCosts accepts none at all or one a channel.
func validateCosts(costs []Cost, dim int) error {
	if n := len(costs); n != 0 && n != dim {
		return &field.Error{Package: "aggregate", Field: "len(Costs)", Value: n, Err: ErrLength}
	}
	for i, c := range costs {
		if c.Known && !(c.Value >= minCost && c.Value <= maxCost && c.SD >= 0 && c.SD <= maxCost) {
			return &field.Error{Package: "aggregate", Field: fmt.Sprintf("Costs[%d]", i), Value: c, Err: ErrRange}
		}
	}
	return nil
}

// minCost and maxCost keep the squares and precisions of costs finite.
const minCost, maxCost = 1e-30, 1e30
