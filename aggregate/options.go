package aggregate

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// Options of an Aggregator. The zero value of a field is its default.
type Options struct {
	// HalfLife is the silence after which a node weighs half, default 5 min: a
	// node pushes at least every 10 s, so one that lives loses at most 2.3 %.
	HalfLife time.Duration
	// Forget is the silence after which a node is forgotten, default ten
	// half-lives, when it weighs 1/1024.
	Forget time.Duration
	// Forgetting is w, the nodes' forgetting factor, in [0,1), default ½ (the
	// thesis's α = β). It caps a node's mass at 1/(1−w) blocks.
	Forgetting float64
	// Block is B, the samples that the global model is stated for, default 10.
	// A node's weight is capped in samples, so declaring larger blocks gains
	// nothing.
	Block int
	// Silence is how long a node's push keeps out those that are older by
	// (Incarnation, Sequence), default 30 s, three times the longest that a node
	// waits between pushes: after it the newcomer wins. A node whose clock was
	// set back starts over with a lower incarnation.
	Silence time.Duration
	// MaxNodes bounds the nodes kept, default 20,000: four times what
	// Kubernetes supports in a cluster.
	MaxNodes int
	// MaxGroups bounds the groups of schema and dimension, default 64: each
	// costs an eigen-decomposition a tick, and a fleet has one or two.
	MaxGroups int
	// MaxBytes bounds what the nodes take in memory, about, default 64 MiB: a
	// node of 4 channels takes half a KiB, one of 64 channels 18 KiB.
	MaxBytes int
	// CallerShare is the share of MaxNodes, MaxGroups and MaxBytes that one caller
	// (Local.Caller) may hold, in (0,1], default ¼: the 5,000 nodes of the largest
	// clusters may be behind one address, and a caller that fills its share at each
	// of three replicas, which exchange what they hold, still leaves room.
	CallerShare float64
}

// mostNodes keeps sums of the integer weights of medians within 64 bits.
const mostNodes = 1 << 22

// Validate returns a *field.Error for the first field out of its range.
func (o Options) Validate() error {
	switch {
	case o.HalfLife < 0:
		return refuse("HalfLife", o.HalfLife, ErrRange)
	case o.Forget < 0:
		return refuse("Forget", o.Forget, ErrRange)
	case o.Silence < 0:
		return refuse("Silence", o.Silence, ErrRange)
	case !(o.Forgetting >= 0 && o.Forgetting < 1):
		return refuse("Forgetting", o.Forgetting, ErrRange)
	case o.Block < 0 || o.Block > 1<<20:
		return refuse("Block", o.Block, ErrRange)
	case o.MaxNodes < 0 || o.MaxNodes > mostNodes:
		return refuse("MaxNodes", o.MaxNodes, ErrRange)
	case o.MaxGroups < 0:
		return refuse("MaxGroups", o.MaxGroups, ErrRange)
	case o.MaxBytes < 0:
		return refuse("MaxBytes", o.MaxBytes, ErrRange)
	case !(o.CallerShare >= 0 && o.CallerShare <= 1):
		return refuse("CallerShare", o.CallerShare, ErrRange)
	}
	return nil
}

// refuse returns a *field.Error that wraps one of the Err variables.
func refuse(name string, value any, err error) error {
	return &field.Error{Package: "aggregate", Field: name, Value: value, Err: err}
}

// WithDefaults returns o with its zero fields replaced.
func (o Options) WithDefaults() Options {
	o.HalfLife = cmp.Or(o.HalfLife, 5*time.Minute)
	o.Forget = cmp.Or(o.Forget, 10*min(o.HalfLife, 1<<59))
	o.Forgetting = cmp.Or(o.Forgetting, .5)
	o.Block = cmp.Or(o.Block, 10)
	o.Silence = cmp.Or(o.Silence, 30*time.Second)
	o.MaxNodes = cmp.Or(o.MaxNodes, 20_000)
	o.MaxGroups = cmp.Or(o.MaxGroups, 64)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.CallerShare = cmp.Or(o.CallerShare, .25)
	return o
}

// capacity is M·B, the most samples that a node can weigh.
func (o Options) capacity() float64 { return float64(o.Block) / (1 - o.Forgetting) }

// weight is what a declared number of samples counts. Next to nothing is
// nothing: its share of a sum would be lost by underflow.
func (o Options) weight(samples float64) float64 {
	if samples < 1e-12 {
		return 0
	}
	return min(samples, o.capacity())
}

// halfLives is the time from a to b in half-lives.
func (o Options) halfLives(a, b time.Time) float64 {
	return float64(b.Sub(a)) / float64(o.HalfLife)
}

// quantum is how much earlier another replica must have received a push for
// its time to be taken over: it changes a node's weight by .07 %.
func (o Options) quantum() time.Duration { return o.HalfLife / 1024 }

// fresh is the greatest age at which a node is taken over from another
// replica: short of Forget by a twentieth, or replicas that receive a push at
// slightly different times would pass a forgotten node back and forth.
func (o Options) fresh() time.Duration { return o.Forget - o.Forget/20 }

// Local is the model that one node pushes of its load.
type Local struct {
	// Caller is where the push comes from, an address or an identity; what one caller
	// may hold is bounded (Options.CallerShare). If it is empty only the bounds of all
	// callers together apply.
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
	// Costs holds one entry a channel: the weighted median of the costs that nodes know and, as SD,
	// how far a further node's may lie from it. An entry is Known if any node knows that cost.
	Costs []Cost
	// Nodes counts those not forgotten.
	Nodes int
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

// Validate returns a *field.Error for the first field that is not as documented; what
// svd.State.Validate refuses is a field such as "Model.Sigma[1]".
func (l Local) Validate() error {
	switch {
	case l.Node == "":
		return refuse("Node", `""`, ErrMissing)
	case l.Schema == "":
		return refuse("Schema", `""`, ErrMissing)
	}
	if err := l.Model.Validate(); err != nil {
		name, value, cause := svd.Refused(err)
		return refuse("Model."+name, value, cause)
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
			return refuse(fmt.Sprintf("%s[%d]", name, i), v, ErrRange)
		}
	}
	return nil
}

// validateCosts accepts none at all or one a channel.
func validateCosts(costs []Cost, dim int) error {
	if n := len(costs); n != 0 && n != dim {
		return refuse("len(Costs)", n, ErrLength)
	}
	for i, c := range costs {
		if c.Known && !(c.Value >= minCost && c.Value <= maxCost && c.SD >= 0 && c.SD <= maxCost) {
			return refuse(fmt.Sprintf("Costs[%d]", i), c, ErrRange)
		}
	}
	return nil
}

// minCost and maxCost keep the squares and precisions of costs finite.
const minCost, maxCost = 1e-30, 1e30
