package agent

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/reserve"
)

// PodPower is what a pod was measured to take of late. It is a plain value.
type PodPower struct {
	Pod reserve.PodKey
	// Cores is how many it kept busy, at least LeastCores, and Watts what it was
	// charged for that.
	Cores, Watts float32
}

// LeastCores are the cores of a pod that took nothing: no cores at all
// means in a Report that the pod was not measured.
const LeastCores = 1e-6

// powerState is what is known of a node's power.
type powerState struct {
	// Power is that of the newest interval, and Pods how many loaded the node in it
	// on average.
	Power energy.Power
	Pods  float64
	// Since is when that interval ended, At up to when PodSeconds has summed the pods
	// that have loaded the node since.
	Since, At  time.Time
	PodSeconds float64
	// Took are the newest figures of pods, by key. Unreported reports that no report has
	// carried them.
	Took       []PodPower `json:",omitempty"`
	Unreported bool       `json:"Untold,omitempty"`
}

// Power takes the node's power as of a time: the mean since the last call. The next
// report carries it. A power without a quality means that it is unknown from then on. An
// invalid power is a *field.Error and changes nothing.
func (p *Pipeline) Power(at time.Time, power energy.Power) error {
	if err := power.Validate(); err != nil {
		if bad := field.By(err, "energy"); bad != nil {
			return &field.Error{Package: "agent", Field: "Power." + bad.Field, Value: bad.Value, Err: fmt.Errorf("%w: %w", ErrInvalid, bad.Err)}
		}
		return err
	}
	if !power.Known() {
		power = energy.Power{}
	}
	at = at.UTC()
	s := p.powered(at)
	s.Power, s.Pods = power, float64(p.pods.loading)
	if span := at.Sub(s.Since).Seconds(); span > 0 {
		s.Pods = s.PodSeconds / span
	}
	s.Since, s.PodSeconds = at, 0
	return nil
}

// PodPower takes what pods took of late. The next report carries it of those that it
// counts. A pod without a key, or one listed twice, is a *field.Error and changes nothing.
func (p *Pipeline) PodPower(at time.Time, pods []PodPower) error {
	took := slices.DeleteFunc(slices.Clone(pods), func(t PodPower) bool { return p.placeholders.has(t.Pod) })
	slices.SortFunc(took, func(a, b PodPower) int { return cmp.Compare(a.Pod, b.Pod) })
	if err := checkPodPower("pods", took); err != nil {
		return err
	}
	s := p.powered(at.UTC())
	s.Took, s.Unreported = took, len(took) > 0
	return nil
}

// powered is the state of a node whose power is measured, brought up to a time.
func (p *Pipeline) powered(at time.Time) *powerState {
	if p.power == nil {
		p.power = &powerState{Since: at, At: at}
	}
	p.power.advance(at, p.pods.loading)
	return p.power
}

// advance sums the pods that have loaded the node up to a time. It does nothing where
// no power is measured.
func (s *powerState) advance(at time.Time, loading int) {
	if s == nil || !at.After(s.At) {
		return
	}
	s.PodSeconds += float64(loading) * at.Sub(s.At).Seconds()
	s.At = at
}

// reportPower completes a report by what is known of power.
func (p *Pipeline) reportPower(r *Report) {
	s := p.power
	if s == nil {
		return
	}
	r.Power = projected(s.Power, p.podCores()*(float64(p.pods.counted)-s.Pods))
	if !s.Unreported || len(r.Pods) == 0 {
		return
	}
	s.Unreported = false
	r.PodCores, r.PodWatts = make([]float32, len(r.Pods)), make([]float32, len(r.Pods))
	took := s.Took
	for i, key := range r.Pods { // both ascend
		for len(took) > 0 && took[0].Pod < key {
			took = took[1:]
		}
		if len(took) > 0 && took[0].Pod == key {
			r.PodCores[i], r.PodWatts[i] = took[0].Cores, took[0].Watts
		}
	}
}

// podCores is what a pod takes of the CPU, in cores; a core where that is no channel.
func (p *Pipeline) podCores() float64 {
	for i, c := range p.config.Channels {
		if c.Name == CPU {
			return p.channels[i].Cost * c.Size
		}
	}
	return 1
}

// projected is a power to which so many cores are added, which may be negative: those
// of pods that a report counts and that the interval did not show, or not all of it.
// Load beyond the machine's cores takes no more power.
func projected(p energy.Power, cores float64) energy.Power {
	if !p.Known() || math.Abs(cores) < LeastCores { // what summing times rounds off
		return p
	}
	busy := min(max(p.Busy+cores, 0), energy.MaxCores)
	run := min(busy, max(p.Cores, p.Busy)) - p.Busy
	p.Watts = min(max(p.Watts+p.Marginal*run, min(p.Watts, p.Idle)), energy.MaxWatts)
	p.Busy = busy
	p.Flags |= energy.Projected
	return p
}

// clone returns a copy, nil of nil.
func (s *powerState) clone() *powerState {
	if s == nil {
		return nil
	}
	c := *s
	c.Took = slices.Clone(s.Took)
	return &c
}

// validate refuses what no pipeline can have had. A nil powerState is valid.
func (s *powerState) validate() error {
	if s == nil {
		return nil
	}
	if err := s.Power.Validate(); err != nil {
		return fmt.Errorf("agent: State.Power: %w", err)
	}
	if !(s.Pods >= 0 && s.Pods <= kalman.MaxPods) {
		return refuse("State.Power.Pods", s.Pods, "must be in [0, 1e6]")
	}
	if !(s.PodSeconds >= 0 && s.PodSeconds <= maxPodSeconds) {
		return refuse("State.Power.PodSeconds", s.PodSeconds, "must be finite and not negative")
	}
	return checkPodPower("State.Power.Took", s.Took)
}

// maxPodSeconds is that of more pods and years than there are.
const maxPodSeconds = 1e18

// checkPodPower checks a list by key.
func checkPodPower(list string, pods []PodPower) error {
	if len(pods) > kalman.MaxPods {
		return refuse("len("+list+")", len(pods), "must be at most %d", kalman.MaxPods)
	}
	for i, t := range pods {
		switch {
		case i > 0 && t.Pod <= pods[i-1].Pod:
			return refuse(index(list, i, "Pod"), t.Pod, "must occur once")
		case !(t.Cores >= LeastCores && t.Cores <= energy.MaxCores):
			return refuse(index(list, i, "Cores"), t.Cores, "must be in [%g, %d]", LeastCores, energy.MaxCores)
		case !(t.Watts >= 0 && t.Watts <= energy.MaxWatts):
			return refuse(index(list, i, "Watts"), t.Watts, "must be in [0, %g]", float64(energy.MaxWatts))
		}
	}
	return nil
}

// WhyPower is what is known of the node's power, in watts, and of what its pods take.
type WhyPower struct {
	// Quality is what the figures rest on, and Flags what to hold against them.
	Quality string `json:"quality"`
	Flags   string `json:"flags,omitempty"`
	// Watts is the power and SD its standard deviation. Projected is the part of it
	// that was not measured: that of the pods of the report beyond PodsMeasured, which
	// loaded the node on average while it was measured. It may be negative.
	Watts        float64 `json:"watts"`
	SD           float64 `json:"wattsSD"`
	Projected    float64 `json:"projectedWatts"`
	PodsMeasured float64 `json:"podsMeasured"`
	// Max is the power at full load, Idle without, and Marginal what a core more takes.
	Max      float64 `json:"maxWatts"`
	Idle     float64 `json:"idleWatts"`
	Marginal float64 `json:"marginalWattsPerCore"`
	// Busy is how many of the Cores are, and Joules what the agent has counted.
	Busy   float64 `json:"busyCores"`
	Cores  float64 `json:"cores"`
	Joules float64 `json:"joules"`
	// Pods are the newest figures of pods, by key.
	Pods []WhyPodPower `json:"pods,omitempty"`
}

// WhyPodPower is what a pod took of late.
type WhyPodPower struct {
	// Pod is the pod's key in 16 hexadecimal digits: numbers of JSON do not hold it.
	Pod   string  `json:"pod"`
	Cores float32 `json:"cores"`
	Watts float32 `json:"watts"`
}

// reportedPower is the power of a report, as measured and with what was added.
type reportedPower struct {
	known              bool // that power was measured at all
	measured, reported energy.Power
	pods               float64
}

func (p *Pipeline) rememberPower(r *Report) {
	if s := p.power; s != nil {
		p.powerTold = reportedPower{true, s.Power, r.Power, s.Pods}
	}
}

func (p *Pipeline) explainPower() *WhyPower {
	r := &p.powerTold
	if !r.known {
		return nil
	}
	w := &WhyPower{
		Quality: r.reported.Quality.String(), Flags: r.reported.Flags.String(),
		Watts: r.reported.Watts, SD: r.reported.SD, Projected: r.reported.Watts - r.measured.Watts, PodsMeasured: r.pods,
		Max: r.reported.Max, Idle: r.reported.Idle, Marginal: r.reported.Marginal,
		Busy: r.reported.Busy, Cores: r.reported.Cores, Joules: r.reported.Joules,
	}
	for _, t := range p.power.Took {
		w.Pods = append(w.Pods, WhyPodPower{fmt.Sprintf("%016x", uint64(t.Pod)), t.Cores, t.Watts})
	}
	return w
}
