package telemetry

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Causes of a dropped sample, found with errors.Is in what [Reader.SampleTo]
// returns.
var (
	// ErrPriming: the first sample only sets the base of the counters.
	ErrPriming = errors.New("first reading, no interval yet")
	// ErrBackwards: a counter is smaller than at the sample before.
	ErrBackwards = errors.New("counter ran backwards")
	// ErrLeap: a counter of time grew by more than the time that passed, or one of bytes by
	// more than the link carries in it.
	ErrLeap = errors.New("counter grew by more than the time that passed allows")
	// ErrStuck: a counter of CPU time stands still although that time passed: idle time while
	// CPUs had time that was not used, as where lxcfs stands in for /proc, CPU time while tasks
	// ran, or all of /proc/stat for a second.
	ErrStuck = errors.New("a counter of CPU time stands still while time passes (lxcfs?)")
	// ErrPartial: the text ends inside or ahead of a line that is needed.
	ErrPartial = errors.New("incomplete text")
	// ErrMalformed: a needed line does not have the kernel's form.
	ErrMalformed = errors.New("malformed text")
	// ErrNoInterval: no time passed since the sample before, or it ran backwards.
	ErrNoInterval = errors.New("no time between two readings")
	// ErrLongInterval: more than Config.MaxInterval passed since the sample
	// before, as after a suspend; the mean over it means nothing for now.
	ErrLongInterval = errors.New("too long between two readings")
	// ErrResized: the number of online CPUs, or the links or their speeds,
	// changed between two readings.
	ErrResized = errors.New("number of CPUs or links changed")
	// ErrNoPressure: the kernel offers no pressure stall information.
	ErrNoPressure = errors.New("no pressure stall information")
	// ErrNoLinkSpeed: no network interface with a device and a known speed is up.
	ErrNoLinkSpeed = errors.New("no link of known speed")
	// ErrUnsupported: the operating system has no such source.
	ErrUnsupported = errors.New("not supported on this operating system")
)

// ChannelError names which channel could not be read and why.
type ChannelError struct {
	// Channel is the channel's name, Path the file it concerns (empty when the
	// cause is the interval).
	Channel, Path string
	Err           error
}

func (e *ChannelError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("telemetry: channel %s: %v", e.Channel, e.Err)
	}
	return fmt.Sprintf("telemetry: channel %s: %s: %v", e.Channel, e.Path, e.Err)
}

// Unwrap returns Err, which wraps one of the Err variables of this package or is the
// system's.
func (e *ChannelError) Unwrap() error { return e.Err }

// Cause returns a short name of the cause from a fixed set, fit for a metric's
// label.
func (e *ChannelError) Cause() string {
	for _, c := range causes {
		if errors.Is(e.Err, c.err) {
			return c.name
		}
	}
	return "unreadable"
}

var causes = []struct {
	err  error
	name string
}{
	{ErrBackwards, "backwards"},
	{ErrLeap, "leap"},
	{ErrStuck, "stuck"},
	{ErrPartial, "partial"},
	{ErrMalformed, "malformed"},
	{ErrNoInterval, "no-interval"},
	{ErrLongInterval, "long-interval"},
	{ErrResized, "resized"},
	{ErrNoPressure, "no-pressure"},
	{ErrNoLinkSpeed, "no-link-speed"},
	{ErrPriming, "priming"},
	{fs.ErrNotExist, "missing"},
}

// SampleError names which channels made a sample fail, in schema order; there is
// at least one. errors.Is and errors.As look at each.
type SampleError struct {
	Channels []*ChannelError
}

func (e *SampleError) Error() string {
	var text strings.Builder
	for i, c := range e.Channels {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(c.Error())
	}
	return text.String()
}

// Unwrap returns the channels' errors.
func (e *SampleError) Unwrap() []error {
	errs := make([]error, len(e.Channels))
	for i, c := range e.Channels {
		errs[i] = c
	}
	return errs
}

// channelErrors returns every channel's error in err, so that each can be
// counted: those of a *SampleError, or the one *ChannelError there is.
func channelErrors(err error) []*ChannelError {
	var sample *SampleError
	if errors.As(err, &sample) {
		return sample.Channels
	}
	var channel *ChannelError
	if errors.As(err, &channel) {
		return []*ChannelError{channel}
	}
	return nil
}

// ErrInvalid is what every [FieldError] wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// FieldError names which field of a configuration or input is out of range; Err
// wraps ErrInvalid.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("telemetry: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err, which wraps ErrInvalid.
func (e *FieldError) Unwrap() error { return e.Err }

// NewFieldError returns the error of a field that is refused for a reason.
func NewFieldError(field string, value any, reason string) *FieldError {
	return &FieldError{field, value, fmt.Errorf("%w: %s", ErrInvalid, reason)}
}
