package continuous

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// Config sets how factors change. The zero value of a field is its default. It is a
// plain value, safe for concurrent reading.
type Config struct {
	// Every is the time between steps, 0 means 10 minutes (the thesis's, §6.3).
	Every time.Duration
}

// The rules.
const (
	// raiseBy and lowerBy are the shares by which a target is raised or lowered at once;
	// from a throttled share of badlyThrottled on it is raised by raiseBadlyBy instead.
	raiseBy, lowerBy             = .2, .1
	badlyThrottled, raiseBadlyBy = .05, .5
	// bandShare is the share of the application's mean that a service has to be above, or
	// below, it (§5.3.2).
	bandShare = .2
	// suffering is the throttled share from which a service may be raised, and an
	// application suffers as a whole, so that one just below it ends below 1 %. healthy is
	// that below which a service may be lowered.
	suffering, healthy = .007, .001
	// stalledShare is the share of the time stalled on memory that raises memory.
	stalledShare = .01
	// leastFactor and mostFactor bound a factor: a service that is called once a second
	// needs a limit of dozens of times its mean use.
	leastFactor, mostFactor = .5, 8
	// factorHalfLife is that of a factor's distance from 1.
	factorHalfLife = 24 * time.Hour
)

// WithDefaults returns c with its zero fields replaced.
func (c Config) WithDefaults() Config {
	c.Every = cmp.Or(c.Every, 10*time.Minute)
	return c
}

// Validate refuses what is out of range.
func (c Config) Validate() error {
	if c = c.WithDefaults(); c.Every < time.Second {
		return refuse("Config.Every", c.Every, "at least 1s, or 0 for the default")
	}
	return nil
}

// LeastCPU is the least target of a pod in cores that a factor multiplies: what is called
// seldom needs more in the tenth of a second of a call than all day. It is the Vertical Pod
// Autoscaler's least request.
const LeastCPU = .025

// Factors are on the targets of CPU and memory. The zero value is 1 for both. It is a
// plain value, safe for concurrent use.
type Factors struct {
	CPU, Memory float64
	// At is when they were found.
	At time.Time
}

// orOne is f with 1 for what nothing is known of.
func (f Factors) orOne() Factors {
	f.CPU, f.Memory = cmp.Or(f.CPU, 1), cmp.Or(f.Memory, 1)
	return f
}

// On are amounts times the factors.
func (f Factors) On(a profile.Amounts) profile.Amounts {
	f = f.orOne()
	return profile.Amounts{CPU: f.CPU * a.CPU, Memory: f.Memory * a.Memory}
}

// Service is one of an application, and how it fared since the step before. It is a
// plain value, safe for concurrent reading.
type Service struct {
	Factors Factors
	// Throttled is the mean share of the periods of its limit in which it was held up.
	// Limited reports that it has a limit: nothing is lowered without.
	Throttled float64
	Limited   bool
	// Target is what was learnt that it should request, in cores, without the factor;
	// Median is the median of its demand. 0 is unknown: nothing is lowered then.
	Target, Median float64
	// Killed reports that the kernel killed one of its pods for want of memory, Stalled is
	// the share of the time in which one waited for it.
	Killed  bool
	Stalled float64
}

func (s Service) validate(i int) error {
	for _, f := range []struct {
		name        string
		value, most float64
	}{
		{"Factors.CPU", s.Factors.CPU, math.MaxFloat64}, {"Factors.Memory", s.Factors.Memory, math.MaxFloat64},
		{"Throttled", s.Throttled, 1}, {"Stalled", s.Stalled, 1},
		{"Target", s.Target, math.MaxFloat64}, {"Median", s.Median, math.MaxFloat64},
	} {
		if !(f.value >= 0) || f.value > f.most {
			return refuse(fmt.Sprintf("Service[%d].%s", i, f.name), f.value, "finite, not negative, a share at most 1")
		}
	}
	return nil
}

// Step returns the factors of an application's services from a time on, in their order,
// appended to dst: all of one application at once, for each is judged by the mean of all.
// Services have the factors of the step before, and what was seen of them since. Services
// with a value out of its range are a *field.Error.
func (c Config) Step(dst []Factors, at time.Time, services []Service) ([]Factors, error) {
	if err := c.Validate(); err != nil {
		return dst, err
	}
	for i, s := range services {
		if err := s.validate(i); err != nil {
			return dst, err
		}
	}
	mean := 0.
	for _, s := range services {
		mean += s.Throttled / float64(len(services))
	}
	for _, s := range services {
		f := s.Factors.orOne().decayed(at)
		f.judgeCPU(mean, s)
		if s.Killed || s.Stalled >= stalledShare {
			f.Memory *= 1 + raiseBy
		}
		f.CPU = min(max(f.CPU, leastFactor, min(used(s), 1)), mostFactor)
		f.Memory = min(max(f.Memory, 1), mostFactor)
		dst = append(dst, f)
	}
	return dst, nil
}

// judgeCPU changes the factor on CPU of a service of an application of that mean.
func (f *Factors) judgeCPU(mean float64, s Service) {
	suffers := s.Throttled > (1+bandShare)*mean || mean >= suffering
	switch {
	case suffers && s.Throttled >= badlyThrottled:
		f.CPU *= 1 + raiseBadlyBy
	case suffers && s.Throttled >= suffering:
		f.CPU *= 1 + raiseBy
	case s.Limited && s.Throttled < healthy && s.Throttled < (1-bandShare)*mean:
		f.CPU = min(f.CPU, max((1-lowerBy)*f.CPU, used(s)))
	}
}

// used is the factor at which a service's target is what it uses, 1 where that is not
// known.
func used(s Service) float64 {
	if s.Target == 0 || s.Median == 0 {
		return 1
	}
	return s.Median / s.Target
}

// none is the distance from 1 below which a factor is taken for 1.
const none = 1e-3

// decayed are the factors as they are at a time if nothing else changes them.
func (f Factors) decayed(at time.Time) Factors {
	keep := 0.
	if !f.At.IsZero() {
		keep = math.Exp2(-max(at.Sub(f.At), 0).Hours() / factorHalfLife.Hours())
	}
	for _, v := range []*float64{&f.CPU, &f.Memory} {
		*v = 1 + (*v-1)*keep
		if math.Abs(*v-1) < none {
			*v = 1
		}
	}
	f.At = at
	return f
}

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "profile", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", profile.ErrInvalid, want)}
}
