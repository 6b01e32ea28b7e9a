package social

import (
	"math"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// refuse makes a *field.Error; want completes "must be".
var refuse = field.Refuser("social", ErrInvalid)

// What a phase of a load may ask for, beside Read and Compose. Mix composes once in ten requests, as the
// mixed load of DeathStarBench does; Rest sends nothing.
const (
	Mix  operation = "mix"
	rest operation = "rest"
)

// composes is every how many requests of Mix one composes.
const composes = 10

// Phase is a kind for a while.
type Phase struct {
	Kind operation
	For  time.Duration
}

// Phases follow each other, over and over. None, or one without a duration, lasts for as
// long as the load does. They are a plain value; as text kind:duration,… .
type Phases []Phase

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Phases) UnmarshalText(text []byte) error {
	var phases Phases
	for part := range strings.SplitSeq(string(text), ",") {
		kind, length, timed := strings.Cut(part, ":")
		phase := Phase{Kind: operation(kind)}
		if timed {
			var err error
			if phase.For, err = time.ParseDuration(length); err != nil {
				return refuse("Phases", part, "a kind and a duration")
			}
		}
		phases = append(phases, phase)
	}
	if err := phases.validate(); err != nil {
		return err
	}
	*p = phases
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (p Phases) MarshalText() ([]byte, error) {
	parts := make([]string, len(p))
	for i, phase := range p {
		parts[i] = string(phase.Kind)
		if phase.For > 0 {
			parts[i] += ":" + phase.For.String()
		}
	}
	return []byte(strings.Join(parts, ",")), nil
}

// validate names the first phase that is out of range.
func (p Phases) validate() error {
	busy := len(p) == 0
	for _, phase := range p {
		switch phase.Kind {
		case read, compose, Mix:
			busy = true
		case rest:
		default:
			return refuse("Phases", phase.Kind, "read, compose, mix or rest")
		}
		if phase.For < 0 || phase.For == 0 && len(p) > 1 {
			return refuse("Phases", phase.For, "durations above 0, or one phase without")
		}
	}
	if !busy {
		return refuse("Phases", p, "some besides rest")
	}
	return nil
}

// schedule says when each request is due, at a rate, and of what kind it is.
type schedule struct {
	phases Phases
	rate   float64
	length time.Duration
	counts []int // requests in each phase
	cycle  time.Duration
	total  int // requests in a cycle
}

func newSchedule(p Phases, rate float64, length time.Duration) schedule {
	if len(p) == 0 {
		p = Phases{{Kind: Mix}}
	}
	s := schedule{rate: rate, length: length}
	for _, phase := range p {
		if phase.For == 0 {
			phase.For = length
		}
		n := 0
		if phase.Kind != rest {
			n = int(math.Ceil(rate * phase.For.Seconds()))
		}
		s.phases, s.counts = append(s.phases, phase), append(s.counts, n)
		s.cycle += phase.For
		s.total += n
	}
	return s
}

// at is when a request is due since the beginning, and whether it composes; ok is false
// behind the end.
func (s schedule) at(request int) (due time.Duration, writes, ok bool) {
	due = time.Duration(request/s.total) * s.cycle
	left := request % s.total
	for i, n := range s.counts {
		if left >= n {
			left -= n
			due += s.phases[i].For
			continue
		}
		due += time.Duration(float64(left) / s.rate * float64(time.Second))
		writes = s.phases[i].Kind == compose || s.phases[i].Kind == Mix && left%composes == composes-1
		break
	}
	return due, writes, due < s.length
}
