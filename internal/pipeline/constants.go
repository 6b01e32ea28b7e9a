package pipeline

import (
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/svd"
)

// The values that zero fields of Constants stand for, where the packages whose
// options the fields are have none.
const (
	// DefaultSpread is how much pods differ in a channel, the standard deviation
	// relative to the mean: a thread takes a core or a part of it.
	DefaultSpread = 0.5
	// DefaultMemorySpread is that of memory, which differs as much as a law without a
	// typical size.
	DefaultMemorySpread = 1
	// DefaultFleetShare has the node and its fleet count alike.
	DefaultFleetShare = 0.5
	// DefaultFleetHalfLife lets the fleet's share fade within minutes of the
	// aggregator's silence.
	DefaultFleetHalfLife = time.Minute
	// DefaultChurnHold covers the spike of a container start, over .36 s after
	// the pod's cgroup appears, and the next container of the same pod.
	DefaultChurnHold = time.Second
	// DefaultChurnCap ends a churn window that new events keep open, so that a
	// node on which some pod may always be at its init containers still learns.
	DefaultChurnCap = 10 * time.Second
	// DefaultPaceHalfLife remembers some forty ends of one-second pods on four
	// cores, and follows within a minute where pods become longer.
	DefaultPaceHalfLife = 30 * time.Second
	// DefaultInitLead covers init containers of a few seconds and the kubelet's
	// second until the next one; it is as long as churn may halt the estimator.
	DefaultInitLead = 10 * time.Second
)

// Constants are what the algorithm's answers depend on and no operator sets. The zero
// value is what agents run by. The simulator and replays vary them by name, to show
// what each is worth: docs/evaluation.md has the figures.
type Constants struct {
	// Filter smooths the samples: the spike of a container's start must not pass for
	// load, and a level that lasts must be there within a second (package filter).
	Filter filter.Config
	// Model learns the typical load from blocks of samples, of a second each at 10 Hz
	// by default, and forgets by their number (package svd). It is not centred, since
	// the typical load is no deviation from itself.
	Model svd.Options
	// Estimator is that of every channel, whose Prior is the channel's. A Spread
	// of 0 means DefaultSpread; that of memory is MemorySpread.
	Estimator EstimatorConfig
	// MemorySpread is how much pods differ in memory, in [0, 10]; 0 means
	// DefaultMemorySpread.
	MemorySpread float64
	// Homogeneous takes pods for alike in all channels, whatever the spreads: the thesis has
	// one cost for all, and what the spreads are worth shows without them.
	Homogeneous bool `json:"Alike"`
	// Signal bounds how far the usage is extended along the typical load: k only has to
	// distinguish busy nodes from idle ones (package capacity).
	Signal capacity.Options
	// Avail is how the room in pods is counted: with caution, as an offer too many
	// cannot be taken back (package capacity). It has a constant Allowance of 0 by
	// default; it adds to the measured one.
	Avail AvailConfig
	// Allowance bounds the start-up allowance, which follows from the pods' run
	// times, so that starts alone do not fill the node (package capacity).
	Allowance capacity.AllowanceOptions
	// NoCoreSlots has usage alone bound the pods on the CPU; otherwise, where
	// a pod takes about a core, so does the number of cores, since half of the channel
	// is waiting tasks, and room there would double the pods for nothing.
	NoCoreSlots bool
	// PaceHalfLife is the time in which what was measured of run times counts
	// half; 0 means DefaultPaceHalfLife.
	PaceHalfLife time.Duration
	// FleetShare is γ in [0, 1], the fleet's part of the effective model; 0 means
	// DefaultFleetShare.
	FleetShare float64
	// FleetSpread is how much the costs of nodes differ, relative to the fleet's:
	// with a larger one a node keeps more of its own (kalman.Pool). 0 means
	// kalman.DefaultFleetSpread.
	FleetSpread float64
	// FleetHalfLife is the time in which the fleet's share halves while the
	// aggregator is silent; 0 means DefaultFleetHalfLife.
	FleetHalfLife time.Duration
	// ChurnHold and ChurnCap bound the churn window, in which usage is that of starts
	// and stops rather than of pods; 0 means the defaults.
	ChurnHold, ChurnCap time.Duration
	// PauseOnChurn has the estimator learn nothing within the churn window, as in the
	// thesis: where pods live for seconds it then learns nothing at all.
	PauseOnChurn bool `json:"HaltOnChurn"`
	// InitLead is how long a pod without a notice of its init containers runs
	// before it is taken to run a container of its own, until pods on this node
	// show what they need; 0 means DefaultInitLead.
	InitLead time.Duration
}
