package tuning

import (
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/continuous"
)

// Tuner names what decides on the services' requests.
type Tuner string

// The tuners.
const (
	// spazio is the default preset and package continuous.
	spazio Tuner = "spazio"
	// recommender is the default preset alone.
	recommender Tuner = "recommender"
	// seed is the thesis's two profilers as they are written, with the whole
	// application as one, which its components are not: see seedComponents.
	seed Tuner = "seed"
	// seedComponents is seed with the strongly connected components of its calls for
	// applications: ten of one service.
	seedComponents Tuner = "seed-scc"
	// none leaves what is there.
	none Tuner = "none"
)

// Tuners are all, the default first.
func Tuners() []Tuner { return []Tuner{spazio, recommender, seed, seedComponents, none} }

// tuner learns from readings of services, by their number, and returns what each should
// request, in cores and bytes, 0 for what it does.
type tuner interface {
	observe(at time.Time, service int, r reading) error
	requests(at time.Time) ([]profile.Amounts, error)
}

func newTuner(name Tuner, services []service) (tuner, error) {
	switch name {
	case none:
		return untuned(len(services)), nil
	case seed, seedComponents:
		return newLiteral(services, name == seedComponents)
	}
	t := &tuned{
		preset: profile.Spazio(), off: name == recommender,
		of: make([]tunedService, len(services)),
	}
	for i := range services {
		var err error
		if t.of[i].profile, err = profile.New(profile.Config{}.For(t.preset)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

type untuned int

func (n untuned) observe(time.Time, int, reading) error { return nil }
func (n untuned) requests(time.Time) ([]profile.Amounts, error) {
	return make([]profile.Amounts, n), nil
}

// tuned are the profile of each service and a factor on what it recommends.
type tuned struct {
	preset profile.Preset
	rules  continuous.Config
	off    bool
	of     []tunedService
}

type tunedService struct {
	profile *profile.Profile
	factors continuous.Factors
	age     time.Duration
	// since the last correction
	periods, throttled uint64
}

func (t *tuned) observe(at time.Time, service int, r reading) error {
	s := &t.of[service]
	s.age += r.span
	s.periods += r.used.Periods
	s.throttled += r.used.ThrottledPeriods
	w := profile.Window{
		Pod: "pod", Node: "node", Always: true,
		Usage: profile.Usage{
			Age: s.age, Span: r.span, CPU: r.used.CPU, Stalled: max(r.used.Stalled-r.used.Throttled, 0), Pressure: true,
			Demand: demandOf(r.demands), Memory: r.used.Memory, MemoryPeak: r.used.Peak,
			Periods: uint32(r.used.Periods), ThrottledPeriods: uint32(r.used.ThrottledPeriods),
		},
	}
	return s.profile.Observe(at, w)
}

// demandOf counts looks by the buckets of what they saw.
func demandOf(cores []float64) []profile.DemandTime {
	millis := make([]uint32, profile.CPU.Buckets)
	for _, c := range cores {
		millis[profile.CPU.Bucket(c)] += uint32(look * 1000)
	}
	var demand []profile.DemandTime
	for b, m := range millis {
		if m > 0 {
			demand = append(demand, profile.DemandTime{Bucket: uint32(b), Millis: m})
		}
	}
	return demand
}

func (t *tuned) requests(at time.Time) ([]profile.Amounts, error) {
	services := make([]continuous.Service, len(t.of))
	targets := make([]profile.Amounts, len(t.of))
	for i := range t.of {
		s := &t.of[i]
		all, err := s.profile.Recommend(at, t.preset, profile.Bounds{Min: profile.Amounts{CPU: continuous.LeastCPU}})
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			targets[i] = r.Target
			services[i] = continuous.Service{Factors: s.factors, Target: r.Target.CPU, Median: r.LowerBound.CPU}
		}
		if services[i].Limited = s.periods > 0; services[i].Limited {
			services[i].Throttled = float64(s.throttled) / float64(s.periods)
		}
		s.periods, s.throttled = 0, 0
	}
	requests := make([]profile.Amounts, len(t.of))
	factors, err := t.rules.Step(nil, at, services)
	if err != nil {
		return nil, err
	}
	for i := range t.of {
		if !t.off {
			t.of[i].factors = factors[i]
		}
		requests[i] = t.of[i].factors.On(targets[i])
	}
	return requests, nil
}
