package profiler

import (
	"cmp"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
)

// Mode is what the factors of the continuous profiler are used for.
type Mode string

// Modes; the zero value is Off.
const (
	// Off: there are none.
	Off Mode = "off"
	// Observe: they are published, and recommendations are as without.
	Observe Mode = "observe"
	// On: recommendations are corrected by them.
	On Mode = "on"
)

// ContinuousConfig is of the continuous profiler. The zero value of a field is its
// default. It is a plain value, safe for concurrent reading.
type ContinuousConfig struct {
	Mode  Mode
	Rules continuous.Config
}

func (c ContinuousConfig) validate() error {
	switch c.Mode {
	case "", Off, Observe, On:
	default:
		return refuse("Continuous.Mode", c.Mode, "off, observe or on")
	}
	return c.Rules.Validate()
}

func (c ContinuousConfig) off() bool { return c.Mode == "" || c.Mode == Off }

// throttling is how a workload's pods were held up since the last step.
type throttling struct {
	pod, containers periods
	memory          stalls // of pods
	killed          bool
}

// stalls are the seconds in which a task waited for memory, of all in which the kernel
// counted that.
type stalls struct{ waited, all float64 }

func (s stalls) share() float64 {
	if s.all == 0 {
		return 0
	}
	return min(s.waited/s.all, 1)
}

// periods are those of limits.
type periods struct{ all, throttled uint64 }

func (p periods) share() float64 {
	if p.all == 0 {
		return 0
	}
	return min(float64(p.throttled)/float64(p.all), 1)
}

// tuning is what the continuous profiler knows of a workload.
type tuning struct {
	partOf      string // the label of its pods
	since       throttling
	factors     continuous.Factors
	application string
}

// begin takes what was published where nothing was found yet.
func (t *tuning) begin(factors continuous.Factors, application string) {
	if t == nil {
		return
	}
	if t.factors.At.IsZero() {
		t.factors = factors
	}
	t.application = cmp.Or(t.application, application)
}

// recordThrottling counts a window. The limit of a pod and those of its containers hold it up
// apart: the kernel counts each in its own group.
func (s *Store) recordThrottling(of *workload, container uint64, w *profile.Usage) {
	if s.config.Continuous.off() {
		return
	}
	since := &of.tuning.since
	since.killed = since.killed || w.OOMKills > 0
	if span := w.Span.Seconds(); container == 0 && w.MemoryPressure {
		since.memory.waited += min(w.MemoryStalled, span)
		since.memory.all += span
	}
	p := &since.pod
	if container != 0 {
		p = &since.containers
	}
	p.all += uint64(w.Periods)
	p.throttled += uint64(w.ThrottledPeriods)
}

// service returns how a workload fared since the last step, for factors on a basis.
func (s *Store) service(w *workload, basis []profile.Recommendation) continuous.Service {
	t := w.tuning
	service := continuous.Service{
		Factors: t.factors, Throttled: max(t.since.pod.share(), t.since.containers.share()),
		Limited: t.since.pod.all+t.since.containers.all > 0, Killed: t.since.killed, Stalled: t.since.memory.share(),
	}
	for _, r := range basis {
		service.Target += r.Target.CPU
		service.Median += r.LowerBound.CPU
	}
	return service
}

// basis is what factors are on: what was learnt, not yet within the owner's bounds, which
// what comes of it has to be.
func (s *Store) basis(at time.Time, w *workload) []profile.Recommendation {
	least := continuous.LeastCPU / float64(max(len(w.containers), 1))
	return s.learnt(at, w, profile.Bounds{Min: profile.Amounts{CPU: least}})
}

// corrects reports whether there are factors by which a workload's recommendation is.
func (s *Store) corrects(w *workload) bool {
	return s.config.Continuous.Mode == On && !w.tuning.factors.At.IsZero()
}

// corrected returns what was learnt about a workload times its factors.
func (s *Store) corrected(at time.Time, w *workload) []profile.Recommendation {
	all, f := s.basis(at, w), w.tuning.factors
	for i := range all {
		all[i] = all[i].Corrected(f.CPU, f.Memory, w.object.spec.Bounds)
	}
	return all
}

// within are factors that do not grow beyond what takes all containers to their bounds,
// from where they would have to come back before they do anything again.
func within(f continuous.Factors, most profile.Amounts, basis []profile.Recommendation) continuous.Factors {
	for _, c := range []struct {
		factor *float64
		most   float64
		of     func(profile.Amounts) float64
	}{
		{&f.CPU, most.CPU, func(a profile.Amounts) float64 { return a.CPU }},
		{&f.Memory, most.Memory, func(a profile.Amounts) float64 { return a.Memory }},
	} {
		enough := 0.
		for _, r := range basis {
			if amount := c.of(r.Target); amount > 0 {
				enough = max(enough, c.most/amount)
			}
		}
		if enough > 0 { // there is a bound
			*c.factor = min(*c.factor, max(enough, 1))
		}
	}
	return f
}

// Connected adds all that went between workloads in a span of time that ended at a time.
// Workloads without a kind are found by their names.
func (s *Store) Connected(at time.Time, span time.Duration, flows []connection.Flow) error {
	if s.graph == nil {
		return nil
	}
	if err := s.graph.Observe(at, span, s.found(at, flows)); err != nil {
		return err
	}
	if len(flows) > 0 { // without a source of flows there are none
		s.connected.Store(true)
	}
	return nil
}

// found are flows whose ends have kinds, as far as they are known, and whose callers are to
// be saved.
func (s *Store) found(at time.Time, flows []connection.Flow) []connection.Flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.named()
	found := make([]connection.Flow, len(flows))
	for i, f := range flows {
		for _, end := range []*profile.Workload{&f.From, &f.To} {
			if of := known[name{end.Namespace, end.Name}]; of != nil && end.Kind == "" {
				*end = of.of
			}
		}
		if w := s.workloads[f.From]; w != nil {
			s.unsaved(at, w)
		}
		found[i] = f
	}
	return found
}

// Bandwidths returns what a workload sends to others, as connection.Graph does.
func (s *Store) Bandwidths(of profile.Workload) []connection.Flow {
	if s.graph == nil {
		return nil
	}
	return s.graph.Bandwidths(of)
}

// HasFlows reports whether this process has received flows: until then no connection is deleted.
func (s *Store) HasFlows() bool { return s.connected.Load() }

// name is a workload's without its kind.
type name struct{ namespace, name string }

// named are the workloads by their names; of several kinds one that pods were seen of
// last.
func (s *Store) named() map[name]*workload {
	all := make(map[name]*workload, len(s.workloads))
	for e := s.recent.Back(); e != nil; e = e.Prev() {
		if w, ok := e.Value.(*workload); ok {
			all[name{w.of.Namespace, w.of.Name}] = w
		}
	}
	return all
}

// TunesEvery is the time between steps of the continuous profiler, 0 where it is off.
func (s *Store) TunesEvery() time.Duration {
	if s.config.Continuous.off() {
		return 0
	}
	return s.config.Continuous.Rules.WithDefaults().Every
}

// Tune finds the factors of all applications, if the time since it did is over, and
// reports how many workloads have others than before.
func (s *Store) Tune(at time.Time) (changed int, err error) {
	c := s.config.Continuous
	if c.off() {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	every := c.Rules.WithDefaults().Every
	if s.tuned.IsZero() { // nothing was observed for long enough
		s.tuned = at
	}
	if at.Sub(s.tuned) < every*9/10 { // a ticker may come a little early
		return 0, nil
	}
	s.tuned = at
	for of := range s.workloads {
		if s.graph.Knows(of) {
			continue
		}
		if err := s.graph.Add(at, of); err != nil {
			return 0, err
		}
	}
	label := func(of profile.Workload) string {
		if w := s.workloads[of]; w != nil {
			return w.partOf()
		}
		return ""
	}
	for _, a := range s.graph.Applications(label) {
		n, err := s.tuneOne(at, a)
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// partOf is the application that the workload's owner names, else the label of its pods.
func (w *workload) partOf() string { return cmp.Or(w.object.spec.Application, w.tuning.partOf) }

// tuneOne finds the factors of an application's workloads that pods were measured of.
func (s *Store) tuneOne(at time.Time, a connection.Application) (changed int, err error) {
	var of []*workload
	var bases [][]profile.Recommendation
	var services []continuous.Service
	for _, job := range a.Jobs {
		if w := s.workloads[job]; w != nil && !w.measured.IsZero() {
			basis := s.basis(at, w)
			of, bases = append(of, w), append(bases, basis)
			services = append(services, s.service(w, basis))
		}
	}
	factors, err := s.config.Continuous.Rules.Step(nil, at, services)
	if err != nil {
		return 0, err
	}
	for i, w := range of {
		t := w.tuning
		factors[i] = within(factors[i], w.object.spec.Bounds.Max, bases[i])
		other := moved(t.factors.CPU, factors[i].CPU) || moved(t.factors.Memory, factors[i].Memory) || t.application != a.Name
		t.factors, t.application, t.since = factors[i], a.Name, throttling{}
		if other {
			changed++
			w.again = true
			s.mark(at, w)
		}
	}
	return changed, nil
}

// moved reports that a factor is another by a per cent; none is 1.
func moved(before, now float64) bool {
	if before == 0 {
		before = 1
	}
	return math.Abs(now-before) > .01*before
}

// mostConnections is what an object has room for.
const mostConnections = 64

// addContinuous adds to an update what the continuous profiler knows of a workload.
func (s *Store) addContinuous(u *Update, w *workload) {
	if s.config.Continuous.off() {
		return
	}
	if f := w.tuning.factors; !f.At.IsZero() {
		u.Factors, u.Corrected = &f, s.config.Continuous.Mode == On
	}
	u.Application = w.tuning.application
	u.Connections = s.graph.GetJobConnections(w.of)
	u.Connections = u.Connections[:min(len(u.Connections), mostConnections)]
}
