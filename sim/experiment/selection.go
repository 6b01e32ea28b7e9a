package experiment

import (
	"errors"
	"io/fs"
	"strings"
)

// Selection selects the cases that are to be run. It is a plain value: reading it
// concurrently is safe.
type Selection struct {
	// Names are those of experiments, or of groups of them (ByGroup).
	Names []string
	// Given are experiments besides, such as Given makes. Of the Sweep they get the
	// fleets alone: what they are made of is given.
	Given []Experiment
	// Params and Sweep are those of all cases; the Trace comes from Traces.
	Params Params
	Sweep  Sweep
	// Traces are the directories that experiments replay, by the name or the alias of
	// the experiment in small letters; "" is for those without one of their own.
	Traces map[string]fs.FS
	// EveryFleet and EveryScheduler say that experiments are run whole, as those of
	// the group All are anyway: without, an experiment has the first of its fleets
	// and the schedulers that answer its question, and is over within a minute.
	EveryFleet, EveryScheduler bool
}

// Cases returns the cases of all experiments, in the order of their names, and the
// experiments of groups that are left out for want of a trace. Errors are those of
// ByGroup and Experiment.Cases.
func (s Selection) Cases() (cases []Case, left []Experiment, err error) {
	for _, name := range s.Names {
		group, err := ByGroup(name)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range group {
			if !strings.EqualFold(name, All) {
				e = s.narrow(e)
			}
			more, err := e.Cases(s.params(e), s.Sweep)
			if len(group) > 1 && errors.Is(err, ErrNoTrace) {
				left = append(left, e)
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			cases = append(cases, more...)
		}
	}
	for _, e := range s.Given {
		more, err := s.narrow(e).Cases(s.Params, Sweep{Fleet: s.Sweep.Fleet})
		if err != nil {
			return nil, nil, err
		}
		cases = append(cases, more...)
	}
	return cases, left, nil
}

// narrow is an experiment as it is run where not the whole of it was asked for.
func (s Selection) narrow(e Experiment) Experiment {
	if !s.EveryFleet {
		e = e.oneFleet()
	}
	if !s.EveryScheduler {
		e = e.fewSchedulers()
	}
	return e
}

// params are those of an experiment, with its trace if there is one.
func (s Selection) params(e Experiment) Params {
	p := s.Params
	for _, name := range []string{strings.ToLower(e.Name), e.alias, ""} {
		if trace, ok := s.Traces[name]; ok {
			p.Trace = trace
			break
		}
	}
	return p
}

// Seeds returns n consecutive ones from the first on; where that is 0, from 1, or of
// those that are not for tuning.
func Seeds(n int, first uint64, heldOut bool) []uint64 {
	switch {
	case first > 0:
	case heldOut:
		first = FirstHeldOut
	default:
		first = 1
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	return seeds
}
