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
	// Relative judges by the band alone, as the thesis does: for metrics that are no
	// shares, so that no amount of them is high by itself. Memory is then lowered too, to no
	// less than its target.
	Relative bool
	// BandOnly has the rules as they were first designed, to be compared with: a service is
	// raised if it is held up 1 % of the time and a fifth more than the mean, by a fifth, up
	// to four times the target.
	BandOnly bool
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
	// What Config.BandOnly has instead.
	bandOnlySuffering, bandOnlyMost = .01, 4
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

// most returns the largest factor.
func (c Config) most() float64 {
	if c.BandOnly {
		return bandOnlyMost
	}
	return mostFactor
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
	// Throttled is the mean share of the periods of its limit in which it was held up, or
	// any metric of that if Config.Relative. Limited reports that it has one: nothing is
	// lowered without.
	Throttled float64
	Limited   bool
	// Target is what was learnt that it should request, in cores, without the factor;
	// Median is the median of its demand. 0 is unknown: nothing is lowered then.
	Target, Median float64
	// Killed reports that the kernel killed one of its pods for want of memory, Stalled is
	// the share of the time in which one waited for it, or any metric of that if
	// Config.Relative.
	Killed  bool
	Stalled float64
}

// Throttling is the share of its limits' periods in which a pod was held up, as a server
// of metrics reports it, which knows pods by name. It is a plain value, safe for concurrent
// use.
type Throttling struct {
	Namespace, Pod string
	Share          float64
}

// Metric is a value of a pod, reported likewise. It is a plain value, safe for concurrent use.
type Metric struct {
	Namespace, Pod string
	Value          float64
}

// Literal are the metrics that the thesis judges by, for Config.Relative: the rates of
// seconds in which limits held pods up, summed over CPUs, and of their memory failures,
// which are page faults for the most part. It is a plain value, safe for concurrent reading.
type Literal struct{ Throttled, Failures []Metric }

func (s Service) validate(i int, relative bool) error {
	share := 1.
	if relative {
		share = math.MaxFloat64
	}
	for _, f := range []struct {
		name        string
		value, most float64
	}{
		{"Factors.CPU", s.Factors.CPU, math.MaxFloat64}, {"Factors.Memory", s.Factors.Memory, math.MaxFloat64},
		{"Throttled", s.Throttled, share}, {"Stalled", s.Stalled, share},
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
		if err := s.validate(i, c.Relative); err != nil {
			return dst, err
		}
	}
	throttled, stalled := c.means(services)
	for _, s := range services {
		f := s.Factors.orOne().decayed(at)
		if c.Relative {
			relative(&f, throttled, stalled, s)
		} else {
			c.cpu(&f, throttled, s)
		}
		if s.Killed || !c.Relative && s.Stalled >= stalledShare {
			f.Memory *= 1 + raiseBy
		}
		f.CPU = min(max(f.CPU, leastFactor, min(used(s), 1)), c.most())
		f.Memory = min(max(f.Memory, 1), c.most())
		dst = append(dst, f)
	}
	return dst, nil
}

// means are those of an application; services without a limit have none of its metric.
func (c Config) means(services []Service) (throttled, stalled float64) {
	of := len(services)
	if c.Relative {
		of = 0
		for _, s := range services {
			if s.Limited {
				of++
			}
		}
	}
	for _, s := range services {
		if !c.Relative || s.Limited {
			throttled += s.Throttled / float64(of)
		}
		stalled += s.Stalled / float64(len(services))
	}
	return throttled, stalled
}

// relative changes the factors of a service by the band around its application's means.
func relative(f *Factors, throttled, stalled float64, s Service) {
	switch {
	case s.Limited && s.Throttled > (1+bandShare)*throttled:
		f.CPU *= 1 + raiseBy
	case s.Limited && s.Throttled < (1-bandShare)*throttled:
		f.CPU = lowered(f.CPU, s)
	}
	switch {
	case s.Stalled > (1+bandShare)*stalled:
		f.Memory *= 1 + raiseBy
	case s.Stalled < (1-bandShare)*stalled:
		f.Memory *= 1 - lowerBy
	}
}

// lowered is a factor on CPU, less by a step but not below what is used.
func lowered(factor float64, s Service) float64 {
	return min(factor, max((1-lowerBy)*factor, used(s)))
}

// cpu changes the factor of a service of an application of that mean.
func (c Config) cpu(f *Factors, mean float64, s Service) {
	suffers := suffering
	if c.BandOnly {
		suffers = bandOnlySuffering
	}
	switch {
	case s.Throttled >= suffers && (s.Throttled > (1+bandShare)*mean || mean >= suffers && !c.BandOnly):
		raise := 1 + raiseBy
		if s.Throttled >= badlyThrottled && !c.BandOnly {
			raise = 1 + raiseBadlyBy
		}
		f.CPU *= raise
	case s.Limited && s.Throttled < healthy && s.Throttled < (1-bandShare)*mean:
		f.CPU = lowered(f.CPU, s)
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
