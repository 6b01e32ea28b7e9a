package aggregate

import (
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/field"
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
	// clusters may lie behind one address, and a caller who does the same at each
	// of three replicas, which tell each other, still leaves room.
	CallerShare float64
	// Clip is c of the package documentation, at least 1: a node farther from the median model than c times the distance
	// that nine tenths of the fleet keep loses weight in proportion. 0 clips
	// nobody.
	Clip float64
}

// mostNodes keeps sums of the integer weights of medians within 64 bits.
const mostNodes = 1 << 22

// Validate returns a *field.Error for the first field out of its range.
func (o Options) Validate() error {
	switch {
	case o.HalfLife < 0:
		return &field.Error{Package: "aggregate", Field: "HalfLife", Value: o.HalfLife, Err: ErrRange}
	case o.Forget < 0:
		return &field.Error{Package: "aggregate", Field: "Forget", Value: o.Forget, Err: ErrRange}
	case o.Silence < 0:
		return &field.Error{Package: "aggregate", Field: "Silence", Value: o.Silence, Err: ErrRange}
	case !(o.Forgetting >= 0 && o.Forgetting < 1):
		return &field.Error{Package: "aggregate", Field: "Forgetting", Value: o.Forgetting, Err: ErrRange}
	case o.Block < 0 || o.Block > 1<<20:
		return &field.Error{Package: "aggregate", Field: "Block", Value: o.Block, Err: ErrRange}
	case o.MaxNodes < 0 || o.MaxNodes > mostNodes:
		return &field.Error{Package: "aggregate", Field: "MaxNodes", Value: o.MaxNodes, Err: ErrRange}
	case o.MaxGroups < 0:
		return &field.Error{Package: "aggregate", Field: "MaxGroups", Value: o.MaxGroups, Err: ErrRange}
	case o.MaxBytes < 0:
		return &field.Error{Package: "aggregate", Field: "MaxBytes", Value: o.MaxBytes, Err: ErrRange}
	case !(o.CallerShare >= 0 && o.CallerShare <= 1):
		return &field.Error{Package: "aggregate", Field: "CallerShare", Value: o.CallerShare, Err: ErrRange}
	case o.Clip != 0 && !(o.Clip >= 1 && o.Clip <= math.MaxFloat64):
		return &field.Error{Package: "aggregate", Field: "Clip", Value: o.Clip, Err: ErrRange}
	}
	return nil
}

// WithDefaults returns o with its zero fields replaced.
func (o Options) WithDefaults() Options {
	if o.HalfLife == 0 {
		o.HalfLife = 5 * time.Minute
	}
	if o.Forget == 0 {
		o.Forget = 10 * min(o.HalfLife, 1<<59)
	}
	if o.Forgetting == 0 {
		o.Forgetting = .5
	}
	if o.Block == 0 {
		o.Block = 10
	}
	if o.MaxNodes == 0 {
		o.MaxNodes = 20_000
	}
	if o.MaxGroups == 0 {
		o.MaxGroups = 64
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Second
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.CallerShare == 0 {
		o.CallerShare = .25
	}
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

// quantum is how much earlier another replica must have heard of a push for
// its time to be taken over: it changes a node's weight by .07 %.
func (o Options) quantum() time.Duration { return o.HalfLife / 1024 }

// fresh is the greatest age at which a node is taken over from another
// replica: short of Forget by a twentieth, or replicas that hear of a push at
// slightly different times would hand a forgotten node back and forth.
func (o Options) fresh() time.Duration { return o.Forget - o.Forget/20 }
