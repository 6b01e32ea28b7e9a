package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node/internal/power"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// CPUMeter reads the CPU times of a machine and its pods; *telemetry.PodUsage is one,
// and may be Config.Usage as well. Its methods are called one at a time, from
// the goroutine of Run.
type CPUMeter interface {
	// Observe takes all pods, sorted by UID, when they change.
	Observe(at time.Time, pods []telemetry.Pod)
	// ReadNode reads the machine's CPU time, ReadCPUTo that and those of its pods.
	ReadNode() (telemetry.NodeCPU, error)
	ReadCPUTo(dst *telemetry.CPUUsage, at time.Time) error
}

// DefaultEnergyPods is how often the energy of pods is reported.
const DefaultEnergyPods = power.DefaultPods

// EnergyConfig describes how the machine's energy is measured: every ten samples, a second
// by default. Source and CPU are required; both belong to the Agent until Run has
// returned, and it closes neither.
type EnergyConfig struct {
	// Source shows what the machine takes, such as a chain of source.Open.
	Source source.Source
	CPU    CPUMeter
	// Split selects how it is divided among the pods.
	Split energy.Split
	// Meter is what is known of the source's counters.
	Meter energy.MeterConfig
	// Pods is how often that is done, at least a second; 0 means DefaultEnergyPods.
	Pods time.Duration
	// Nameplate is the machine's power without load and at full, from which the curve
	// of a modelled power begins; a measured one is learnt.
	Nameplate energy.CurveConfig
}

func (c *EnergyConfig) validate() error {
	switch {
	case c.Source == nil:
		return refuse("Energy.Source", nil, "missing")
	case c.CPU == nil:
		return refuse("Energy.CPU", nil, "missing")
	case c.Pods != 0 && c.Pods < time.Second:
		return refuse("Energy.Pods", c.Pods, "less than a second")
	}
	for _, part := range []struct {
		name string
		err  error
	}{{"Nameplate", c.Nameplate.Validate()}, {"Meter", c.Meter.Validate()}, {"Split", c.Split.Validate()}} {
		if bad := field.By(part.err, "energy"); bad != nil {
			return &field.Error{Package: "node", Field: "Energy." + part.name + "." + bad.Field, Value: bad.Value, Err: fmt.Errorf("%w: %w", ErrInvalid, bad.Err)}
		}
	}
	return nil
}

func (c *EnergyConfig) meter(logger *slog.Logger) *power.Meter {
	return power.New(power.Config{
		Source: c.Source, CPU: c.CPU, Split: c.Split, Meter: c.Meter, Pods: c.Pods, Nameplate: c.Nameplate, Logger: logger,
	})
}

// OpenEnergy opens the source of a machine's energy, and returns an EnergyConfig of it. A
// model gets the utilisation that cpu reads, and its power is the nameplate. What the
// chain begins ends with ctx; close it once the Agent's Run has returned. Errors are
// those of source.Open.
func OpenEnergy(ctx context.Context, c source.Config, cpu CPUMeter) (EnergyConfig, *source.Chain, error) {
	of := EnergyConfig{CPU: cpu}
	if c.Model != nil {
		model := *c.Model
		model.Utilisation = utilisation(cpu)
		c.Model = &model
		of.Nameplate = energy.CurveConfig{Idle: model.Idle, Max: model.Max}
	}
	chain, err := source.Open(ctx, c)
	if err != nil {
		return EnergyConfig{}, nil, err
	}
	of.Source = chain
	return of, chain, nil
}

// utilisation returns what a source.ModelConfig asks for: the busy share of the
// machine's cores since it was last asked, 0 at first. It is an error where the CPU time
// ran backwards, or grew by more than the cores can have been busy.
func utilisation(cpu CPUMeter) func() (float64, error) {
	var last telemetry.NodeCPU
	var at time.Time
	return func() (float64, error) {
		node, err := cpu.ReadNode()
		if err != nil {
			return 0, err
		}
		now := time.Now()
		was, span, first := last, now.Sub(at), at.IsZero()
		last, at = node, now
		if first || span <= 0 {
			return 0, nil
		}
		u, ok := power.Utilisation(was, node, span)
		if !ok {
			return 0, &field.Error{Package: "node", Field: "CPU.Busy", Value: node.Busy, Err: fmt.Errorf("%w: was %v, %v before, on %d cores", ErrInvalid, was.Busy, span, node.Cores)}
		}
		return u, nil
	}
}

// PowerChannel is the name of the channel that a PowerMeter adds.
const PowerChannel = "power"

// PowerMeter is a Meter with a channel more: the machine's power as a share of a limit.
// It is for one goroutine.
type PowerMeter struct {
	Meter
	source   source.Source
	name     string
	limit    float64
	meter    *energy.Meter
	readings []energy.Reading
	last     float64
}

// NewPowerMeter adds to a meter that is sampled every period the power that a source
// shows, as a share of a limit in watts. The source is the meter's alone, and read twice
// to see that it is there. The error is a *field.Error; a source that has no newer reading
// each period is one.
func NewPowerMeter(m Meter, s source.Source, limit float64, period time.Duration) (*PowerMeter, error) {
	if !(limit > 0 && limit <= energy.MaxWatts) {
		return nil, refuse("PowerLimit", limit, fmt.Sprintf("not in (0, %g]", float64(energy.MaxWatts)))
	}
	p := &PowerMeter{Meter: m, source: s, limit: limit}
	p.meter, _ = energy.NewMeter(energy.MeterConfig{})
	var err error
	for range 2 { // a chain wants two
		p.readings, err = s.ReadTo(p.readings, time.Now())
	}
	p.name = s.Name()
	switch {
	case s.Period() > period:
		return nil, refuse("PowerLimit", limit, fmt.Sprintf("%s reports power at most every %v, samples are %v apart", p.name, s.Period(), period))
	case len(p.readings) == 0:
		return nil, &field.Error{Package: "node", Field: "PowerLimit", Value: limit, Err: fmt.Errorf("%w: no power is measured: %w", ErrInvalid, err)}
	case err != nil:
		return nil, &field.Error{Package: "node", Field: "PowerLimit", Value: limit, Err: fmt.Errorf("%w: a part of the power is not measured: %w", ErrInvalid, err)}
	}
	return p, nil
}

// Schema implements Meter.
func (p *PowerMeter) Schema() telemetry.Schema {
	s := p.Meter.Schema()
	s.ID += ";" + PowerChannel + "=" + p.name
	s.Channels = append(s.Channels[:len(s.Channels):len(s.Channels)], PowerChannel)
	return s
}

// SizesTo implements Meter. The channel's size is the limit, in watts.
func (p *PowerMeter) SizesTo(dst []float64) []float64 {
	return append(p.Meter.SizesTo(dst), p.limit)
}

// SampleTo implements Meter. Where a zone goes missing, or another source is read than the
// schema names, the sample is dropped.
func (p *PowerMeter) SampleTo(dst []float64, at time.Time) ([]float64, error) {
	watts, powerErr := p.watts(at)
	dst, err := p.Meter.SampleTo(dst, at)
	if err != nil {
		return dst, err
	}
	if powerErr != nil {
		return dst, &telemetry.ChannelError{Channel: PowerChannel, Err: powerErr}
	}
	return append(dst, min(watts/p.limit, 1)), nil
}

// watts is the mean power since the last sample.
func (p *PowerMeter) watts(at time.Time) (float64, error) {
	var err error
	p.readings, err = p.source.ReadTo(p.readings, at)
	if errors.Is(err, source.ErrUnchanged) {
		return p.last, nil
	}
	if len(p.readings) == 0 {
		return 0, err
	}
	partial := err
	if name := p.source.Name(); name != p.name {
		return 0, fmt.Errorf("%w: %s is read, not %s", source.ErrNoPower, name, p.name)
	}
	in, err := p.meter.Add(p.readings)
	if errors.Is(err, energy.ErrPriming) && in.To.IsZero() {
		return 0, telemetry.ErrPriming
	}
	if in.Partial || in.To.IsZero() || partial != nil {
		return 0, errors.Join(partial, err)
	}
	if in.Watts == 0 && p.source.Quality().IsInstrument() {
		return 0, source.ErrStill
	}
	p.last = in.Watts
	return in.Watts, nil
}
