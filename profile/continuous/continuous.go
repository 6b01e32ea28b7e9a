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
	// Raise and Lower are the shares by which a target is; 0 means .2 and .1.
	Raise, Lower float64
	// Badly is the throttled share from which a service is raised by RaiseBadly instead;
	// 0 means .05 and .5.
	Badly, RaiseBadly float64
	// Band is the share of the application's mean that a service has to be above, or
	// below, it; 0 means .2 (§5.3.2).
	Band float64
	// Suffers is the throttled share from which a service may be raised, and an
	// application suffers as a whole; 0 means .007, so that who stays just below it
	// ends below 1 %. Healthy is that below which a service may be lowered; 0 means .001.
	Suffers, Healthy float64
	// WithinBand leaves a service within the band as it is, also where all suffer.
	WithinBand bool
	// Relative judges by the band alone, as the thesis does: for metrics that are no
	// shares, so that no amount of them is high by itself. Memory is then lowered too, to no
	// less than its target.
	Relative bool
	// Stalled is the share of the time stalled on memory that raises memory; 0 means
	// .01.
	Stalled float64
	// Least and Most bound a factor; 0 means ½ and 8: a service that is called once a
	// second needs a limit of dozens of times its mean use.
	Least, Most float64
	// HalfLife is that of a factor's distance from 1; 0 means 24 hours.
	HalfLife time.Duration
}

// BandOnly are the rules as they were first designed, to be compared with: raised is who
// is held up 1 % of the time and a fifth more than the mean, by a fifth, up to four
// times the target.
func BandOnly() Config {
	return Config{Suffers: .01, RaiseBadly: .2, Most: 4, WithinBand: true}
}

// WithDefaults returns c with its zero fields replaced.
func (c Config) WithDefaults() Config {
	c.Every = cmp.Or(c.Every, 10*time.Minute)
	c.Raise = cmp.Or(c.Raise, .2)
	c.Lower = cmp.Or(c.Lower, .1)
	c.Badly = cmp.Or(c.Badly, .05)
	c.RaiseBadly = cmp.Or(c.RaiseBadly, .5)
	c.Band = cmp.Or(c.Band, .2)
	c.Suffers = cmp.Or(c.Suffers, .007)
	c.Healthy = cmp.Or(c.Healthy, .001)
	c.Stalled = cmp.Or(c.Stalled, .01)
	c.Least = cmp.Or(c.Least, .5)
	c.Most = cmp.Or(c.Most, 8)
	c.HalfLife = cmp.Or(c.HalfLife, 24*time.Hour)
	return c
}

// Validate refuses what is out of range.
func (c Config) Validate() error {
	c = c.WithDefaults()
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Config.Every", c.Every}, {"Config.HalfLife", c.HalfLife}} {
		if d.value < time.Second {
			return refuse(d.field, d.value, "at least 1s, or 0 for the default")
		}
	}
	for _, s := range []struct {
		field string
		value float64
	}{
		{"Config.Raise", c.Raise}, {"Config.Lower", c.Lower}, {"Config.Badly", c.Badly}, {"Config.RaiseBadly", c.RaiseBadly}, {"Config.Band", c.Band}, {"Config.Suffers", c.Suffers},
		{"Config.Healthy", c.Healthy}, {"Config.Stalled", c.Stalled}, {"Config.Least", c.Least},
	} {
		if !(s.value > 0) || s.value > 1 {
			return refuse(s.field, s.value, "in (0, 1], or 0 for the default")
		}
	}
	switch {
	case c.Lower == 1:
		return refuse("Config.Lower", c.Lower, "below 1")
	case !(c.Most >= 1) || c.Most > 1000:
		return refuse("Config.Most", c.Most, "from 1 to 1000, or 0 for the default")
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
	c = c.WithDefaults()
	throttled, stalled := c.means(services)
	for _, s := range services {
		f := c.decayed(at, s.Factors.orOne())
		if c.Relative {
			c.relative(&f, throttled, stalled, s)
		} else {
			c.cpu(&f, throttled, s)
		}
		if s.Killed || !c.Relative && s.Stalled >= c.Stalled {
			f.Memory *= 1 + c.Raise
		}
		f.CPU = min(max(f.CPU, c.Least, min(used(s), 1)), c.Most)
		f.Memory = min(max(f.Memory, 1), c.Most)
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
func (c Config) relative(f *Factors, throttled, stalled float64, s Service) {
	switch {
	case s.Limited && s.Throttled > (1+c.Band)*throttled:
		f.CPU *= 1 + c.Raise
	case s.Limited && s.Throttled < (1-c.Band)*throttled:
		f.CPU = c.lowered(f.CPU, s)
	}
	switch {
	case s.Stalled > (1+c.Band)*stalled:
		f.Memory *= 1 + c.Raise
	case s.Stalled < (1-c.Band)*stalled:
		f.Memory *= 1 - c.Lower
	}
}

// lowered is a factor on CPU, less by a step but not below what is used.
func (c Config) lowered(factor float64, s Service) float64 {
	return min(factor, max((1-c.Lower)*factor, used(s)))
}

// cpu changes the factor of a service of an application of that mean.
func (c Config) cpu(f *Factors, mean float64, s Service) {
	switch {
	case s.Throttled >= c.Suffers && (s.Throttled > (1+c.Band)*mean || mean >= c.Suffers && !c.WithinBand):
		raise := c.Raise
		if s.Throttled >= c.Badly {
			raise = c.RaiseBadly
		}
		f.CPU *= 1 + raise
	case s.Limited && s.Throttled < c.Healthy && s.Throttled < (1-c.Band)*mean:
		f.CPU = c.lowered(f.CPU, s)
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
func (c Config) decayed(at time.Time, f Factors) Factors {
	keep := 0.
	if !f.At.IsZero() {
		keep = math.Exp2(-max(at.Sub(f.At), 0).Hours() / c.HalfLife.Hours())
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
