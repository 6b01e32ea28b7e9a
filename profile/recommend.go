package profile

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Amounts are cores and bytes. It is a plain value, safe for concurrent use.
type Amounts struct{ CPU, Memory float64 }

// Bounds limit recommendations; a Max of 0 is no bound. It is a plain value, safe
// for concurrent reading.
type Bounds struct{ Min, Max Amounts }

// validate refuses bounds that no amount lies within.
func (b Bounds) validate() error {
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

// Recommend returns what containers should request from a time on, by name. Given the
// containers that pods have now, it leaves out what was not measured and what pods had
// once, and one that is alone in its pod has its own name. Without, it is all that were
// measured; the pod itself, whose name is empty, only if no container was measured apart.
// After a kill for want of memory a request is at least what the kill asks for.
func (p *Profile) Recommend(at time.Time, by Preset, within Bounds, containers ...string) ([]Recommendation, error) {
	if len(containers) > 0 {
		return p.recommend(at, by, within, containers, func(name string) *container { return p.containerOf(name, len(containers) == 1) })
	}
	var names []string
	for _, c := range p.containers {
		names = append(names, c.name)
	}
	if len(names) > 1 && names[0] == "" {
		names = names[1:]
	}
	return p.recommend(at, by, within, names, p.containers.of)
}

func (p *Profile) recommend(at time.Time, by Preset, within Bounds, names []string, of func(string) *container) ([]Recommendation, error) {
	if err := by.Validate(); err != nil {
		return nil, err
	}
	if err := within.validate(); err != nil {
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
// containers, as Recommend names them; 0 if it was not measured.
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

// Preset is a way to make recommendations, by the name of who devised it. It is a
// plain value, safe for concurrent reading.
type Preset struct {
	Name        string
	CPU, Memory Rule
}

// rules are those of CPU and memory.
func (p Preset) rules() [2]Rule { return [2]Rule{p.CPU, p.Memory} }

// Validate refuses a rule out of range.
func (p Preset) Validate() error {
	for _, r := range p.rules() {
		if err := r.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Seed is the profiler of S. Galantino's thesis (§4.5, 5.3.2), which this package grew
// from: P98 of CPU, the peak of memory, of the same slot of the day, and 15 %. Its
// half-lives are the autoscaler's, as the thesis names none.
func Seed() Preset {
	return Preset{
		Name:   "seed",
		CPU:    Rule{HalfLife: 24 * time.Hour, Percentile: .98, Margin: .15, Slots: true},
		Memory: Rule{HalfLife: 48 * time.Hour, Margin: .15, Slots: true},
	}
}

// VPA is the Vertical Pod Autoscaler's target (1.7.0, pkg/recommender: logic,
// model, main.go): P90 of CPU and of the days' peaks of memory, of one-day
// half-lives, 15 %, and no less than 25 millicores and 250 MiB a pod.
func VPA() Preset {
	return Preset{
		Name:   "vpa",
		CPU:    Rule{HalfLife: 24 * time.Hour, Percentile: .9, Margin: .15, Least: .025},
		Memory: Rule{HalfLife: 24 * time.Hour, Percentile: .9, Daily: true, Margin: .15, Least: 250 << 20},
	}
}

// autopilot is the moving window recommender for services that Google published
// (Rzadca et al., EuroSys 2020, §3.2): P95 of CPU of half-life 12 hours, P98 of
// memory of 48 hours, no less than the last hour's peak, and 10 %.
func autopilot() Preset {
	return Preset{
		Name:   "autopilot",
		CPU:    Rule{HalfLife: 12 * time.Hour, Percentile: .95, Recent: time.Hour, Margin: .1},
		Memory: Rule{HalfLife: 48 * time.Hour, Percentile: .98, Recent: time.Hour, Margin: .1},
	}
}

// autopilotBatch is the same paper's for batch jobs: the mean of CPU, the largest
// sample of memory.
func autopilotBatch() Preset {
	return Preset{
		Name:   "autopilot-batch",
		CPU:    Rule{HalfLife: 12 * time.Hour, Mean: true, Margin: .1},
		Memory: Rule{HalfLife: 48 * time.Hour, Margin: .1},
	}
}

// koordlet is koordinator's peak predictor (pkg/koordlet/prediction): P95 of CPU of
// half-life 12 hours, P98 of memory of 24 hours, and 10 %.
func koordlet() Preset {
	return Preset{
		Name:   "koordlet",
		CPU:    Rule{HalfLife: 12 * time.Hour, Percentile: .95, Margin: .1},
		Memory: Rule{HalfLife: 24 * time.Hour, Percentile: .98, Margin: .1},
	}
}

// Spazio is the default: of few rules that which, on the first halves of the series
// in docs/profiles.md, took least at each peer's quality whichever series was left
// out. What is small has a margin in cores and bytes, for there a share is too
// little and costs nothing; 100 MiB are also what the autoscaler adds after a kill.
func Spazio() Preset {
	return Preset{
		Name:   "spazio",
		CPU:    Rule{HalfLife: 12 * time.Hour, Percentile: .98, Recent: time.Hour, Margin: .05, LeastMargin: .01},
		Memory: Rule{HalfLife: 24 * time.Hour, Percentile: .98, Pods: .98, Margin: .05, LeastMargin: 100 << 20},
	}
}

// Presets are all presets, the default first.
func Presets() []Preset {
	return []Preset{Spazio(), Seed(), VPA(), autopilot(), autopilotBatch(), koordlet()}
}

// Corrected is the recommendation with its amounts times factors, cut to bounds. r should be
// one made without these bounds: Uncapped is made of its Target, which they may have cut.
func (r Recommendation) Corrected(cpu, memory float64, within Bounds) Recommendation {
	times := func(a Amounts) Amounts { return Amounts{cpu * a.CPU, memory * a.Memory} }
	r.Uncapped = times(r.Target)
	r.Target = within.clamp(r.Uncapped)
	r.LowerBound, r.UpperBound = within.clamp(times(r.LowerBound)), within.clamp(times(r.UpperBound))
	return r
}

// container is what recommendations for a container are made of.
type container struct {
	name      string // empty: the pod as a whole
	histories [resources]History
	// peaks has the largest amount of memory of each ended pod, live those of pods
	// that are not, by their keys.
	peaks histogram
	live  []podPeak
	// kills are the peaks at which the kernel killed for want of memory.
	kills peaks
}

// containers are a workload's in the order of their names: mostly one, for which a map
// would take more than the container.
type containers []*container

func (c containers) find(name string) (i int, known bool) {
	return slices.BinarySearchFunc(c, name, func(c *container, name string) int { return strings.Compare(c.name, name) })
}

// of is the container of a name, nil if there is none.
func (c containers) of(name string) *container {
	if i, known := c.find(name); known {
		return c[i]
	}
	return nil
}

// podPeak is the largest amount of memory of a live pod.
type podPeak struct {
	pod   uint64
	ns    int64 // since 1970, of its last window
	bytes float64
}

// killSpan is how long each span of kills is; they count for eight.
const killSpan = 48 * time.Hour

// newContainer is of a configuration that was validated and has no defaults left.
func newContainer(name string, c *Config) *container {
	made := &container{
		name:  strings.Clone(name),
		peaks: histogram{scale: Memory, halfLife: int64(c.podHalfLife)},
		kills: peaksOf(killSpan, peakHalfLives+1),
	}
	for r := range made.histories {
		made.histories[r] = newHistory(c.history(r).withDefaults())
	}
	return made
}

// observe takes a valid window.
func (c *container) observe(at time.Time, w *Window) error {
	pod := keyOf(w.Pod)
	i, known := c.find(pod)
	if !known {
		c.live = slices.Insert(c.live, i, podPeak{pod: pod})
	}
	p := &c.live[i]
	memory := w.memory(p.bytes)
	p.ns = max(p.ns, at.UnixNano())
	p.bytes = max(p.bytes, memory)
	var err error
	if !w.NoCPU {
		err = c.addCPU(at, w)
	}
	if err == nil && memory > 0 {
		err = c.histories[1].Add(at, memory, w.Span.Minutes())
	}
	if err == nil && w.OOMKills > 0 {
		err = c.kills.addAt(at, p.bytes)
	}
	if w.Ended {
		c.end(pod)
	}
	return err
}

// addCPU adds the demands of the window, weighted by their minutes.
func (c *container) addCPU(at time.Time, w *Window) error {
	if len(w.Demand) == 0 {
		return c.histories[0].Add(at, w.cores(), w.Span.Minutes())
	}
	for _, d := range w.Demand {
		if d.Millis == 0 {
			continue
		}
		minutes := float64(d.Millis) / float64(time.Minute/time.Millisecond)
		if err := c.histories[0].Add(at, CPU.within(int(d.Bucket)), minutes); err != nil {
			return err
		}
	}
	return nil
}

func (c *container) find(pod uint64) (i int, known bool) {
	return slices.BinarySearchFunc(c.live, pod, func(p podPeak, key uint64) int {
		switch {
		case p.pod < key:
			return -1
		case p.pod > key:
			return 1
		}
		return 0
	})
}

// newest is the span of time, of recentSpan, in which the container was last measured.
func (c *container) newest() int64 {
	return max(c.histories[0].recent.newest, c.histories[1].recent.newest)
}

// end keeps a pod's peak.
func (c *container) end(pod uint64) {
	i, known := c.find(pod)
	if !known {
		return
	}
	addPeak(&c.peaks, c.live[i])
	c.live = slices.Delete(c.live, i, i+1)
}

// addPeak adds a pod's peak, which was checked when it was observed.
func addPeak(to *histogram, p podPeak) {
	if p.bytes > 0 {
		_ = to.add(time.Unix(0, p.ns), p.bytes, 1)
	}
}

// podPeak is that percentile of pods' peaks, 0 without any.
func (c *container) podPeak(percentile float64) float64 {
	all := c.peaks.clone()
	for _, p := range c.live {
		addPeak(all, p)
	}
	return all.quantile(percentile)
}

// After a kill for want of memory the target is the peak and a fifth, or the peak
// and 100 MiB if that is more: the autoscaler's rule
// (pkg/recommender/model/aggregations_config.go, 1.7.0).
const killShare, killBytes = 1.2, 100 << 20

// afterKills is what the kills ask for, 0 without any. It is never a sample: fed
// back, each would raise the next (kubernetes/autoscaler#9521).
func (c *container) afterKills(at time.Time) float64 {
	peak := c.kills.maxAt(at)
	if peak == 0 {
		return 0
	}
	return max(killShare*peak, peak+killBytes)
}

// amounts are what the rules say.
func (c *container) amounts(at time.Time, by Preset) Amounts {
	memory := c.histories[1].level(at, by.Memory)
	if by.Memory.Pods > 0 {
		memory = max(memory, c.podPeak(by.Memory.Pods))
	}
	return Amounts{
		CPU:    c.histories[0].Target(at, by.CPU),
		Memory: max(by.Memory.above(memory), c.afterKills(at)),
	}
}
