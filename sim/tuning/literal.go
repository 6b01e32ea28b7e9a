package tuning

import (
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// literal is the profiler of S. Galantino's thesis (§4.6, 5.3.2) as it is written, to be
// compared with: package profile's comment lists its faults. The one-time profiler predicts
// by the preset Seed. The continuous profiler looks up the service that has waited longest
// for an update. Of the services of its application those are predicted more whose metric,
// the rate of seconds in which the limit held them up, is above the mean by more than a
// fifth, and those below by more than a fifth less. The steps, which the thesis does not
// name, are its author's program's.
type literal struct {
	// components has each service be an application of its own, since calls go one way.
	components bool
	rules      profile.Preset
	of         []literalService
}

// literalService is what is known of a service, and by what its prediction of CPU is
// corrected.
type literalService struct {
	name        string
	cpu, memory *profile.History
	factor      float64
	updated     time.Time
	metric      []float64 // since the last correction
}

// The thesis's band, and the steps.
const (
	band    = .2
	raised  = 1.2
	lowered = .9
)

func newLiteral(services []service, components bool) (*literal, error) {
	l := &literal{components: components, rules: profile.Seed()}
	for _, s := range services {
		of := literalService{name: s.name, factor: 1, updated: start}
		var err error
		if of.cpu, err = profile.NewHistory(profile.HistoryConfig{Scale: profile.CPU, HalfLife: l.rules.CPU.HalfLife}); err != nil {
			return nil, err
		}
		if of.memory, err = profile.NewHistory(profile.HistoryConfig{Scale: profile.Memory, HalfLife: l.rules.Memory.HalfLife}); err != nil {
			return nil, err
		}
		l.of = append(l.of, of)
	}
	return l, nil
}

func (l *literal) observe(at time.Time, service int, r reading) error {
	s, seconds := &l.of[service], r.span.Seconds()
	s.metric = append(s.metric, r.used.Throttled/seconds)
	if err := s.memory.Add(at, r.used.Memory, 1); err != nil {
		return err
	}
	s.updated = at
	return s.cpu.Add(at, r.used.CPU/seconds, 1)
}

func (l *literal) requests(at time.Time) ([]profile.Amounts, error) {
	l.correct(at)
	requests := make([]profile.Amounts, len(l.of))
	for i := range l.of {
		s := &l.of[i]
		s.metric = nil
		requests[i] = profile.Amounts{CPU: s.factor * s.cpu.Target(at, l.rules.CPU), Memory: s.memory.Target(at, l.rules.Memory)}
	}
	return requests, nil
}

// correct is an iteration of the continuous profiler (listing 5.2). Of services that have
// waited equally long the first by name is looked up.
func (l *literal) correct(at time.Time) {
	oldest := 0
	for i, s := range l.of {
		if o := l.of[oldest]; s.updated.Before(o.updated) || s.updated.Equal(o.updated) && s.name < o.name {
			oldest = i
		}
	}
	application := l.of
	if l.components {
		application = l.of[oldest : oldest+1]
	}
	all, known := 0., 0.
	for _, s := range application {
		if value, ok := mean(s.metric); ok {
			all, known = all+value, known+1
		}
	}
	for i := range application {
		s := &application[i]
		value, ok := mean(s.metric)
		switch {
		case ok && value > (1+band)*all/known:
			s.factor *= raised
		case ok && value < (1-band)*all/known:
			s.factor *= lowered
		}
		s.updated = at
	}
}

func mean(values []float64) (mean float64, ok bool) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean, len(values) > 0
}
