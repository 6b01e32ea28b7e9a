package agent

import (
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// CPU is the name of the channel whose prior cost follows from PodsPerCore.
const CPU = "cpu"

// Memory is the name of the channel without give: pods that take more than there
// is swap or are killed. Its room is counted with the spread between pods.
const Memory = "memory"

// Defaults of Config.
const (
	// DefaultSpread and DefaultMemorySpread are how much pods differ, the
	// standard deviation relative to the mean: a thread takes a core or a part of
	// it, while memory differs as much as a law without a typical size.
	DefaultSpread       = 0.5
	DefaultMemorySpread = 1
	// DefaultPodsPerCore fills a fresh node by one pod a core: two fill it at
	// once and make waves, since all its pods then end together.
	DefaultPodsPerCore = 1
	// DefaultFleetShare is γ: the node and its fleet count alike.
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
	// DefaultSettle is the filter's persistence gate and one sample, at 10 Hz.
	DefaultSettle = 600 * time.Millisecond
	// DefaultPaceHalfLife remembers some forty ends of one-second pods on four
	// cores, and follows within a minute where pods become longer.
	DefaultPaceHalfLife = 30 * time.Second
	// DefaultMinInterval bounds the reports to ten a second.
	DefaultMinInterval = 100 * time.Millisecond
	// DefaultMaxAge is ten samples at 10 Hz.
	DefaultMaxAge = time.Second
	// DefaultInitLead covers init containers of a few seconds and the kubelet's
	// second until the next one; it is as long as churn may halt the estimator.
	DefaultInitLead = 10 * time.Second
)

// MaxBlock bounds Config.Model.Block, of which the pipeline keeps one in memory:
// an hour at 10 Hz.
const MaxBlock = 36_000

// Channel is one resource of the schema.
type Channel struct {
	Name string
	// Size is the absolute size of the channel on this node (cores, bytes), > 0.
	Size float64
	// Prior is the share of the channel one pod takes before anything is known;
	// 0 means 1/(Cores·PodsPerCore) for the CPU and half of it elsewhere.
	Prior float64
	// Reserve is the share of the channel that pods are to leave free, in [0, 1),
	// for load beside them that must not wait.
	Reserve float64
}

// Config of a Pipeline. Node, Schema, Channels and Cores are required; the zero
// value of every other field means its default.
type Config struct {
	// Node is the name reported on. Incarnation orders the agent's starts.
	Node        string
	Incarnation uint64
	// Schema identifies the ordered channels and their options; models of
	// different schemas never mix.
	Schema   string
	Channels []Channel
	// Cores is the number of CPUs, > 0.
	Cores float64
	// PodsPerCore is p of the cold start; 0 means DefaultPodsPerCore.
	PodsPerCore float64
	// NoPressure says that the CPU is judged by utilisation alone, for the kernel has
	// not the pressure stall information asked for.
	NoPressure bool

	Filter filter.Config
	Model  svd.Options
	// Estimator is that of every channel, whose Prior is the channel's. A Spread
	// of 0 means DefaultSpread; that of memory is MemorySpread.
	Estimator pipeline.EstimatorConfig
	// MemorySpread is how much pods differ in memory, in [0, 10]; 0 means
	// DefaultMemorySpread.
	MemorySpread float64
	// Alike says that pods do not differ, in any channel, whatever the spreads.
	Alike  bool
	Signal capacity.Options
	// Avail has a constant Allowance of 0 by default; it adds to the measured one.
	Avail capacity.AvailOptions
	// Allowance bounds the start-up allowance, which follows from the pods' run
	// times (package doc).
	Allowance capacity.AllowanceOptions
	// NoCoreSlots says that usage alone bounds the pods on the CPU; otherwise, where
	// a pod takes about a core, so does the number of cores.
	NoCoreSlots bool
	// PaceHalfLife is the time in which what was measured of run times counts
	// half; 0 means DefaultPaceHalfLife.
	PaceHalfLife time.Duration

	// FleetShare is γ in [0, 1]; 0 means DefaultFleetShare.
	FleetShare float64
	// OwnModel says that the node keeps to its own model, whatever FleetShare.
	OwnModel bool
	// FleetSpread is how much the costs of nodes differ, relative to the fleet's:
	// with a larger one a node keeps more of its own (kalman.Pool). 0 means
	// kalman.DefaultFleetSpread.
	FleetSpread float64
	// FleetHalfLife is the time in which the fleet's share halves while the
	// aggregator is silent; 0 means DefaultFleetHalfLife.
	FleetHalfLife time.Duration
	// ChurnHold and ChurnCap bound the churn window; 0 means the defaults.
	ChurnHold, ChurnCap time.Duration
	// HaltOnChurn says that the estimator learns nothing within the churn window,
	// as the thesis has it; for comparison.
	HaltOnChurn bool
	// Settle is the lag of the filter; 0 means DefaultSettle.
	Settle time.Duration
	// MinInterval is the least mean time between reports on events; 0 means
	// DefaultMinInterval.
	MinInterval time.Duration
	// MaxAge is how long a sample stands for the node: no report on an event is
	// made of an older one, and what came before a longer gap is not mixed with
	// what comes after. 0 means DefaultMaxAge.
	MaxAge time.Duration
	// InitLead is how long a pod without a notice of its init containers runs
	// before it is taken to run a container of its own, until pods on this node
	// show what they need; 0 means DefaultInitLead.
	InitLead time.Duration

	// Pronto, if set, has avail follow Pronto's rejection signal over the samples as
	// they are measured, whatever the room (package doc). Its Model.Rank is at most
	// the number of channels, its Model.Block at most MaxBlock.
	Pronto *pronto.Config `json:",omitempty"`
}

// Validate reports the first field out of its range, as a *field.Error of this
// package or wrapped from the package the field belongs to.
func (c Config) Validate() error {
	switch {
	case c.Node == "":
		return refuse("Node", `""`, "must not be empty")
	case c.Schema == "":
		return refuse("Schema", `""`, "must not be empty")
	case len(c.Channels) == 0 || len(c.Channels) > svd.MaxDim:
		return refuse("Channels", len(c.Channels), "must be 1 to %d", svd.MaxDim)
	case !positive(c.Cores):
		return refuse("Cores", c.Cores, "must be finite and positive")
	case c.PodsPerCore != 0 && !positive(c.PodsPerCore):
		return refuse("PodsPerCore", c.PodsPerCore, "must be finite and positive")
	case !(c.FleetShare >= 0 && c.FleetShare <= 1):
		return refuse("FleetShare", c.FleetShare, "must be in [0, 1]")
	case !(c.MemorySpread >= 0 && c.MemorySpread <= 10):
		return refuse("MemorySpread", c.MemorySpread, "must be in [0, 10]")
	case c.FleetSpread != 0 && !positive(c.FleetSpread):
		return refuse("FleetSpread", c.FleetSpread, "must be finite and positive")
	}
	if c.Model.Block > MaxBlock {
		return refuse("Model.Block", c.Model.Block, "must be at most %d", MaxBlock)
	}
	if c.Model.Centre { // the typical load is not a deviation from itself
		return refuse("Model.Centre", true, "the node's model is not centred")
	}
	for i, ch := range c.Channels {
		if ch.Name == "" {
			return refuse(index("Channels", i, "Name"), `""`, "must not be empty")
		}
		if !positive(ch.Size) {
			return refuse(index("Channels", i, "Size"), ch.Size, "must be finite and positive")
		}
		if ch.Prior != 0 && !positive(ch.Prior) {
			return refuse(index("Channels", i, "Prior"), ch.Prior, "must be finite and positive")
		}
		if !(ch.Reserve >= 0 && ch.Reserve < 1) {
			return refuse(index("Channels", i, "Reserve"), ch.Reserve, "must be in [0, 1)")
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"FleetHalfLife", c.FleetHalfLife}, {"ChurnHold", c.ChurnHold}, {"ChurnCap", c.ChurnCap},
		{"Settle", c.Settle}, {"MinInterval", c.MinInterval}, {"PaceHalfLife", c.PaceHalfLife},
		{"MaxAge", c.MaxAge}, {"InitLead", c.InitLead},
	} {
		if d.value < 0 {
			return refuse(d.name, d.value, "must not be negative")
		}
	}
	if err := c.validateParts(); err != nil {
		return err
	}
	return c.validatePronto()
}

func (c Config) validatePronto() error {
	if c.Pronto == nil {
		return nil
	}
	if err := c.Pronto.Validate(); err != nil {
		return fmt.Errorf("agent: Pronto: %w", err)
	}
	if m := c.Pronto.Model; m.Rank > len(c.Channels) {
		return refuse("Pronto.Model.Rank", m.Rank, "must be at most the %d channels", len(c.Channels))
	}
	if m := c.Pronto.Model; m.Block > MaxBlock {
		return refuse("Pronto.Model.Block", m.Block, "must be at most %d", MaxBlock)
	}
	return nil
}

func (c Config) validateParts() error {
	for _, part := range []struct {
		name string
		err  error
	}{
		{"Filter", c.Filter.Validate()}, {"Model", c.Model.Validate()}, {"Estimator", c.Estimator.Validate()},
		{"Signal", c.Signal.Validate()}, {"Avail", c.Avail.Validate()},
		{"Allowance", c.Allowance.Validate()},
	} {
		if part.err != nil {
			return fmt.Errorf("agent: %s: %w", part.name, part.err)
		}
	}
	return nil
}

// estimator is that of a channel; the Config has its defaults.
func (c *Config) estimator(ch Channel) kalman.Config {
	e := c.Estimator.Config
	e.Prior = ch.Prior
	switch {
	case c.Alike:
		e.Spread = 0
	case ch.Name == Memory && c.MemorySpread != 0:
		e.Spread = c.MemorySpread
	case ch.Name == Memory:
		e.Spread = DefaultMemorySpread
	case e.Spread == 0:
		e.Spread = DefaultSpread
	}
	return e
}

// podSD is σ of a channel whose pods take the given cost, 0 where exceeding it
// does no harm that a pod's end would not mend.
func (c *Config) podSD(ch Channel, cost float64) float64 {
	if ch.Name != Memory {
		return 0
	}
	return c.estimator(ch).Spread * cost
}

func positive(f float64) bool { return f > 0 && !math.IsInf(f, 0) }

func (c Config) withDefaults() Config {
	c.Channels = append([]Channel(nil), c.Channels...)
	if c.PodsPerCore == 0 {
		c.PodsPerCore = DefaultPodsPerCore
	}
	pod := 1 / (c.Cores * c.PodsPerCore)
	for i := range c.Channels {
		switch ch := &c.Channels[i]; {
		case ch.Prior != 0:
		case ch.Name == CPU:
			ch.Prior = pod
		default:
			ch.Prior = pod / 2
		}
	}
	if c.FleetShare == 0 {
		c.FleetShare = DefaultFleetShare
	}
	if c.OwnModel {
		c.FleetShare = 0
	}
	if c.Model.Block == 0 {
		c.Model.Block = svd.DefaultBlock
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.FleetHalfLife, DefaultFleetHalfLife}, {&c.ChurnHold, DefaultChurnHold}, {&c.ChurnCap, DefaultChurnCap},
		{&c.Settle, DefaultSettle}, {&c.MinInterval, DefaultMinInterval},
		{&c.PaceHalfLife, DefaultPaceHalfLife}, {&c.MaxAge, DefaultMaxAge}, {&c.InitLead, DefaultInitLead},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}
