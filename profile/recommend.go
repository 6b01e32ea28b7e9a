package profile

import (
	"math"
	"time"
)

// Amounts are cores and bytes. It is a plain value, safe for concurrent use.
type Amounts struct{ CPU, Memory float64 }

// Bounds limit recommendations; a Max of 0 is no bound. It is a plain value, safe
// for concurrent reading.
type Bounds struct{ Min, Max Amounts }

// Validate refuses bounds that no amount lies within.
func (b Bounds) Validate() error {
	for _, v := range []struct {
		field    string
		min, max float64
	}{{"CPU", b.Min.CPU, b.Max.CPU}, {"Memory", b.Min.Memory, b.Max.Memory}} {
		if !(v.min >= 0) || math.IsInf(v.min, 1) {
			return refuse("Bounds.Min."+v.field, v.min, "finite and not negative")
		}
		if !(v.max >= 0) || v.max > 0 && v.max < v.min {
			return refuse("Bounds.Max."+v.field, v.max, "at least the minimum, or 0")
		}
	}
	return nil
}

func (b Bounds) clamp(a Amounts) Amounts {
	return Amounts{clamp(a.CPU, b.Min.CPU, b.Max.CPU), clamp(a.Memory, b.Min.Memory, b.Max.Memory)}
}

func clamp(v, low, high float64) float64 {
	if high > 0 {
		v = min(v, high)
	}
	return max(v, low)
}

// Recommendation is what a container should request, within its bounds, and what
// it would be without them. It is a plain value, safe for concurrent reading.
type Recommendation struct {
	Container              string
	Target, Uncapped       Amounts
	LowerBound, UpperBound Amounts
}

// limitFactor is what the thesis's application test sets limits to (table 6.3).
const limitFactor = 2

// Limits are twice the target, for who sets limits.
func (r Recommendation) Limits() Amounts {
	return Amounts{limitFactor * r.Target.CPU, limitFactor * r.Target.Memory}
}

// The percentiles between which a request needs no change, the autoscaler's.
const lowerPercentile, upperPercentile = .5, .95

// at is the preset at another percentile of the samples alone.
func (p Preset) at(percentile float64) Preset {
	for _, r := range []*Rule{&p.CPU, &p.Memory} {
		r.Percentile, r.Mean, r.Recent, r.Pods = percentile, false, 0, 0
	}
	return p
}

// among is the preset for each of a pod's containers: what it gives at least is a
// pod's.
func (p Preset) among(containers int) Preset {
	for _, r := range []*Rule{&p.CPU, &p.Memory} {
		r.LeastMargin /= float64(max(containers, 1))
		r.Least /= float64(max(containers, 1))
	}
	return p
}

// Recommend says what the containers should request from a time on, by name; the
// pod itself, whose name is empty, only if no container was measured apart. After a
// kill for want of memory that is at least what the kill asks for.
func (p *Profile) Recommend(at time.Time, by Preset, within Bounds) ([]Recommendation, error) {
	var names []string
	for _, c := range p.containers {
		names = append(names, c.name)
	}
	if len(names) > 1 && names[0] == "" {
		names = names[1:]
	}
	return p.recommend(at, by, within, names, p.containers.of)
}

// RecommendFor is Recommend for the containers that pods have now, by their names: not
// for one that pods had once, and by its own name for one that is alone in its pod.
// What was not measured is left out.
func (p *Profile) RecommendFor(at time.Time, by Preset, within Bounds, containers []string) ([]Recommendation, error) {
	return p.recommend(at, by, within, containers, func(name string) *container { return p.containerOf(name, len(containers) == 1) })
}

func (p *Profile) recommend(at time.Time, by Preset, within Bounds, names []string, of func(string) *container) ([]Recommendation, error) {
	if err := by.Validate(); err != nil {
		return nil, err
	}
	if err := within.Validate(); err != nil {
		return nil, err
	}
	by = by.among(len(names))
	var all []Recommendation
	for _, name := range names {
		c := of(name)
		if c == nil {
			continue
		}
		target := c.amounts(at, by)
		lower := c.amounts(at, by.at(lowerPercentile))
		upper := c.amounts(at, by.at(upperPercentile))
		all = append(all, Recommendation{
			Container: name, Target: within.clamp(target), Uncapped: target,
			LowerBound: within.clamp(Amounts{min(lower.CPU, target.CPU), min(lower.Memory, target.Memory)}),
			UpperBound: within.clamp(Amounts{max(upper.CPU, target.CPU), max(upper.Memory, target.Memory)}),
		})
	}
	return all, nil
}

// apartSpans is how much later a pod must have been measured than its container for
// that to be no longer measured apart: at its end a pod is for some seconds.
const apartSpans = int64(time.Hour / recentSpan)

// containerOf is what is known of a container, nil without. One that is alone in its
// pod is measured as the pod, unless there are init containers beside it.
func (p *Profile) containerOf(name string, alone bool) *container {
	apart, whole := p.containers.of(name), p.containers.of("")
	if !alone || whole == nil || apart != nil && whole.newest()-apart.newest() < apartSpans {
		return apart
	}
	return whole
}

// Peak is the largest amount of memory that a live pod was seen with, or one of its
// containers, as RecommendFor names them; 0 if it was not measured.
func (p *Profile) Peak(pod, container string, containers []string) float64 {
	c := p.containerOf(container, len(containers) == 1)
	if c == nil {
		return 0
	}
	i, known := c.find(keyOf(pod))
	if !known {
		return 0
	}
	return c.live[i].bytes
}
