package telemetry

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

const (
	memoryPressureName = "memory-pressure"
	ioName             = "io"
)

// stall is a channel of pressure stall information: the share of time in which
// some task waited for one resource.
type stall struct {
	label string
	file  *file
	span  span
	last  uint64 // µs
}

// newStall opens proc's pressure file of a resource, named as the kernel does.
func newStall(c Config, label, resource string) (*stall, error) {
	f, err := openPressure(c, label, resource)
	if err != nil {
		return nil, err
	}
	return &stall{label: label, file: f, span: span{longest: c.MaxInterval}}, nil
}

// openPressure opens the pressure file of a resource; the error of a kernel that
// has none is ErrNoPressure.
func openPressure(c Config, label, resource string) (*file, error) {
	f := newFile(filepath.Join(c.ProcRoot, "pressure", resource), 512)
	if _, err := readAs(label, f, ParsePressure); err != nil {
		f.close()
		if lacksPressure(err) {
			err = &ChannelError{label, f.path, ErrNoPressure}
		}
		return nil, err
	}
	return f, nil
}

// lacksPressure recognises a kernel without pressure stall information, which has no
// such file or (older ones booted with psi=0) refuses to read it, from a file
// that cannot be read today.
func lacksPressure(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported)
}

func (s *stall) name() string   { return s.label }
func (s *stall) option() string { return "some" }
func (s *stall) size() float64  { return 1 }
func (s *stall) close()         { s.file.close() }

func (s *stall) sample(at time.Time) (float64, error) {
	now, err := readAs(s.label, s.file, ParsePressure)
	if err != nil {
		return 0, err
	}
	last := s.last
	s.last = now.Some
	since, err := s.span.next(at)
	if err != nil {
		return 0, &ChannelError{Channel: s.label, Err: err}
	}
	return stallShare(last, now.Some, since.Seconds(), s.label, s.file.path)
}

// stallShare is the share of so many seconds by which a total of pressure grew. It is
// wall time: one that grew by more has leapt.
func stallShare(last, now uint64, seconds float64, channel, path string) (float64, error) {
	if now < last {
		return 0, &ChannelError{channel, path, ErrBackwards}
	}
	stalled := float64(now-last) / 1e6
	if most := mostIn(seconds); stalled > most {
		return 0, &ChannelError{channel, path, fmt.Errorf("%w: %.3f s stalled in at most %.3f s", ErrLeap, stalled, most)}
	}
	return clamp(stalled / seconds), nil
}

// span is the time between two readings of a channel's counters.
type span struct {
	longest time.Duration
	at      time.Time
	primed  bool
}

// next takes at as the base of the next reading, whatever it returns: the time
// since the base before, ErrPriming, ErrNoInterval or ErrLongInterval.
func (s *span) next(at time.Time) (time.Duration, error) {
	since := at.Sub(s.at)
	primed := s.primed
	s.at, s.primed = at, true
	switch {
	case !primed:
		return 0, ErrPriming
	case since <= 0:
		return 0, ErrNoInterval
	case since > s.longest:
		return 0, ErrLongInterval
	}
	return since, nil
}

// lateness is by how much a file may be read after the time of its sample: one period
// of a CPU limit, for which the reader may be held up.
const lateness = 100 * time.Millisecond

// mostIn is the wall time in seconds by which a counter can have grown between two
// readings so many seconds apart. One that grew by more has leapt.
func mostIn(seconds float64) float64 { return seconds + lateness.Seconds() }
