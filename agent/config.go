package agent

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/field"
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
	// DefaultPodsPerCore fills a fresh node by one pod a core: two fill it at
	// once and make waves, since all its pods then end together.
	DefaultPodsPerCore = 1
	// DefaultSettle is the filter's persistence gate and one sample, at 10 Hz.
	DefaultSettle = 600 * time.Millisecond
	// DefaultMinInterval bounds the reports to ten a second.
	DefaultMinInterval = 100 * time.Millisecond
	// DefaultMaxAge is ten samples at 10 Hz.
	DefaultMaxAge = time.Second
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
	// NoPressure has the CPU judged by utilisation alone, where the kernel lacks the
	// pressure stall information that the schema asks for.
	NoPressure bool
	// OwnModel has the node keep to its own model, whatever its fleet's.
	OwnModel bool
	// Settle is the lag of the filter; 0 means DefaultSettle. It grows with the time
	// between two samples.
	Settle time.Duration
	// MinInterval is the least mean time between reports on events; 0 means
	// DefaultMinInterval.
	MinInterval time.Duration
	// MaxAge is how long a sample stands for the node: no report on an event is
	// made of an older one, and what came before a longer gap is not mixed with
	// what comes after. 0 means DefaultMaxAge.
	MaxAge time.Duration

	// Pronto, if set, has avail follow Pronto's rejection signal over the samples as
	// they are measured, whatever the room (package doc). Its Model.Rank is at most
	// the number of channels, its Model.Block at most MaxBlock.
	Pronto *pronto.Config `json:",omitempty"`

	// Constants are those of the algorithm, which the simulator varies and nodes leave
	// at their defaults.
	pipeline.Constants
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
	case c.Homogeneous:
		e.Spread = 0
	case ch.Name == Memory && c.MemorySpread != 0:
		e.Spread = c.MemorySpread
	case ch.Name == Memory:
		e.Spread = pipeline.DefaultMemorySpread
	case e.Spread == 0:
		e.Spread = pipeline.DefaultSpread
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
	c.PodsPerCore = cmp.Or(c.PodsPerCore, DefaultPodsPerCore)
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
	c.FleetShare = cmp.Or(c.FleetShare, pipeline.DefaultFleetShare)
	if c.OwnModel {
		c.FleetShare = 0
	}
	c.Model.Block = cmp.Or(c.Model.Block, svd.DefaultBlock)
	c.FleetHalfLife = cmp.Or(c.FleetHalfLife, pipeline.DefaultFleetHalfLife)
	c.ChurnHold = cmp.Or(c.ChurnHold, pipeline.DefaultChurnHold)
	c.ChurnCap = cmp.Or(c.ChurnCap, pipeline.DefaultChurnCap)
	c.Settle = cmp.Or(c.Settle, DefaultSettle)
	c.MinInterval = cmp.Or(c.MinInterval, DefaultMinInterval)
	c.PaceHalfLife = cmp.Or(c.PaceHalfLife, pipeline.DefaultPaceHalfLife)
	c.MaxAge = cmp.Or(c.MaxAge, DefaultMaxAge)
	c.InitLead = cmp.Or(c.InitLead, pipeline.DefaultInitLead)
	return c
}

// ErrInvalid is the reason of every field.Error of this package; match it with
// errors.Is.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse returns a *field.Error with the reason in words.
func refuse(name string, value any, format string, args ...any) error {
	return &field.Error{Package: "agent", Field: name, Value: value, Err: fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)}
}

// index names a field of an element of a list.
func index(list string, i int, field string) string {
	if field == "" {
		return fmt.Sprintf("%s[%d]", list, i)
	}
	return fmt.Sprintf("%s[%d].%s", list, i, field)
}
