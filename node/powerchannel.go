package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/telemetry"
)

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
