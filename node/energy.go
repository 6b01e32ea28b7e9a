package node

import (
	"context"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
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
const DefaultEnergyPods = 5 * time.Second

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
		u, ok := utilisationOf(was, node, span)
		if !ok {
			return 0, &field.Error{Package: "node", Field: "CPU.Busy", Value: node.Busy, Err: fmt.Errorf("%w: was %v, %v before, on %d cores", ErrInvalid, was.Busy, span, node.Cores)}
		}
		return u, nil
	}
}
