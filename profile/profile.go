package profile

import (
	"slices"
	"time"
)

// Window is what a pod, or one of its containers, took during a span of time that
// ended when it is observed. It is a plain value, safe for concurrent reading.
type Window struct {
	// Pod is its UID, Container the name of the container, empty for the pod.
	Pod, Container string
	Node, Revision string
	// Age is the pod's at the end of the window, which lasted Span.
	Age, Span time.Duration
	// CPUSeconds were used and StalledSeconds waited for a core, together what
	// the pod would have used of idle ones. Unstalled says that waiting was not
	// measured: the confidence in CPU stays at most ½ then.
	CPUSeconds, StalledSeconds float64
	Unstalled                  bool
	// MemoryPeak is the largest amount of memory, without page cache.
	MemoryPeak float64
	// Always says that the pod is restarted when it ends, so lives on.
	Always bool
	// Ended says that it is the pod's last.
	Ended bool
}

// Bounds of a window, as on the wire.
const (
	maxSpan  = time.Hour
	maxCores = 4096
	maxBytes = 1 << 50
)

// Validate refuses what no pod can have taken.
func (w Window) Validate() error {
	switch {
	case w.Pod == "":
		return refuse("Window.Pod", w.Pod, "given")
	case w.Span <= 0 || w.Span > maxSpan:
		return refuse("Window.Span", w.Span, "above 0, at most 1h")
	case w.Age < 0:
		return refuse("Window.Age", w.Age, "not negative")
	case !(w.CPUSeconds >= 0) || w.CPUSeconds > maxCores*w.Span.Seconds():
		return refuse("Window.CPUSeconds", w.CPUSeconds, "from 0 to 4096 cores")
	case !(w.StalledSeconds >= 0) || w.StalledSeconds > maxCores*w.Span.Seconds():
		return refuse("Window.StalledSeconds", w.StalledSeconds, "from 0 to 4096 cores")
	case !(w.MemoryPeak >= 0) || w.MemoryPeak > maxBytes:
		return refuse("Window.MemoryPeak", w.MemoryPeak, "from 0 to 2^50")
	}
	return nil
}

// Profile learns what the pods of one workload take. What it says depends on the
// windows it has seen; time passing alone changes nothing but the slot. A Profile
// is for one goroutine at a time.
type Profile struct {
	config     Config
	prior      Demand
	containers map[string]*container
	whole      *pods
	slots      []*pods
	lives      *Histogram
	course     map[string]*course // of live pods
	always     bool
	unstalled  bool
	restarts   int
	revision   string
	began      time.Time // of the revision's first pod
	prices     prices
	dirty      bool
}

// course is what a live pod has taken so far: in all, and in its slot.
type course struct {
	all, slot sums
	at        int // the slot
}

type sums struct {
	cpu, seconds, peak float64
}

func (s *sums) add(w *Window) {
	s.cpu += w.CPUSeconds + w.StalledSeconds
	s.seconds += w.Span.Seconds()
	s.peak = max(s.peak, w.MemoryPeak)
}

// amounts are the mean of CPU and the peak of memory.
func (s *sums) amounts() [resources]float64 {
	return [resources]float64{s.cpu / s.seconds, s.peak}
}

// New returns a profile that knows nothing.
func New(c Config) (*Profile, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Profile{config: c.withDefaults(), containers: map[string]*container{}, course: map[string]*course{}, dirty: true}
	var err error
	if p.lives, err = NewHistogram(Lifetimes, p.config.PodHalfLife); err != nil {
		return nil, err
	}
	p.whole = newPods(&p.config)
	for range p.config.Slots {
		p.slots = append(p.slots, newPods(&p.config))
	}
	return p, nil
}

// SetPrior says what pods like these take: those of the same template, say.
func (p *Profile) SetPrior(d Demand) error {
	if err := d.Validate(); err != nil {
		return err
	}
	p.prior, p.dirty = d, true
	return nil
}

// Restarts counts how often three pods in a row contradicted what was known.
func (p *Profile) Restarts() int { return p.restarts }

// Revision is the newest that was seen.
func (p *Profile) Revision() string { return p.revision }

// Observe takes a window that ended at a time. One of a pod that began before the
// newest revision did, and is of another, says nothing of what comes.
func (p *Profile) Observe(at time.Time, w Window) error {
	if err := checkTime(at); err != nil {
		return err
	}
	if err := w.Validate(); err != nil {
		return err
	}
	if err := p.record(at, &w); err != nil {
		return err
	}
	if w.Container != "" || !p.current(at, &w) {
		return nil
	}
	p.dirty, p.always, p.unstalled = true, w.Always, w.Unstalled
	slot, today := slotOf(at, p.config.Zone, len(p.slots))
	c := p.course[w.Pod]
	if c == nil {
		c = &course{at: slot}
		p.course[w.Pod] = c
	}
	if c.at != slot {
		p.slots[c.at].end(w.Pod)
		c.at, c.slot = slot, sums{}
	}
	c.all.add(&w)
	c.slot.add(&w)
	weight := p.weight(&w)
	if w.Ended {
		delete(p.course, w.Pod)
		if err := p.lives.Add(at, w.Age.Seconds(), 1); err != nil {
			return err
		}
	}
	if p.whole.observe(at, &w, c.all.amounts(), weight, today) {
		p.restarts++
	}
	p.slots[slot].observe(at, &w, c.slot.amounts(), weight, today)
	return nil
}

// Gone ends a pod whose last window never came; what it has shown stays.
func (p *Profile) Gone(pod string) {
	if c := p.course[pod]; c != nil {
		p.whole.end(pod)
		p.slots[c.at].end(pod)
		delete(p.course, pod)
		p.dirty = true
	}
}

// record keeps the window for recommendations, weighted by its minutes.
func (p *Profile) record(at time.Time, w *Window) error {
	c := p.containers[w.Container]
	if c == nil {
		c = new(container)
		for r := range c {
			h, err := NewHistory(p.config.history(r))
			if err != nil {
				return err
			}
			c[r] = h
		}
		p.containers[w.Container] = c
	}
	seconds := w.Span.Seconds()
	if err := c[0].Add(at, (w.CPUSeconds+w.StalledSeconds)/seconds, seconds/60); err != nil {
		return err
	}
	return c[1].Add(at, w.MemoryPeak, seconds/60)
}

// current says whether the window is of the newest revision, which begins with the
// first pod that is of another and younger.
func (p *Profile) current(at time.Time, w *Window) bool {
	began := at.Add(-w.Age)
	if w.Revision == p.revision && !p.began.IsZero() {
		return true
	}
	if !p.began.IsZero() {
		if !began.After(p.began) {
			return false
		}
		p.whole.restrict(p.config.RevisionPods)
		for _, s := range p.slots {
			s.restrict(p.config.RevisionPods)
		}
		clear(p.course)
	}
	p.revision, p.began = w.Revision, began
	return true
}

// The median age after which a pod's reading counts in full is bounded: nothing is
// known after less than ten seconds, all that matters here after ten minutes.
const leastFull, mostFull = 10 * time.Second, 10 * time.Minute

// weight is that of a pod at its age: full from the median age of the workload's
// ended pods on, and at its own end.
func (p *Profile) weight(w *Window) float64 {
	full := leastFull
	if median := p.lives.Quantile(.5); median > 0 {
		full = time.Duration(min(max(median, leastFull.Seconds()), mostFull.Seconds()) * float64(time.Second))
	}
	if w.Ended || w.Age >= full {
		return 1
	}
	return max(w.Age.Seconds(), w.Span.Seconds()) / full.Seconds()
}

// prices are the demands by slot.
type prices struct {
	slots   []Demand
	dearest Demand
	reach   time.Duration // how long most pods live, 0 if for longer than a slot
}

// Demand is what a pod will take that starts at a time and lives for so long: the
// dearest of the slots of the day it lives in. With lives 0 that is what most pods
// of the workload have lived (P90), or the whole day if they are restarted for
// ever, half of them outlive a slot, or none has ended.
func (p *Profile) Demand(at time.Time, lives time.Duration) Demand {
	if p.dirty {
		p.price()
	}
	if lives <= 0 {
		lives = p.prices.reach
	}
	length := day / time.Duration(len(p.slots))
	if lives <= 0 || lives >= day-length || checkTime(at) != nil {
		return p.prices.dearest
	}
	slot, _ := slotOf(at, p.config.Zone, len(p.slots))
	last, _ := slotOf(at.Add(lives), p.config.Zone, len(p.slots))
	d := p.prices.slots[slot]
	for slot != last {
		slot = (slot + 1) % len(p.slots)
		d = dearer(d, p.prices.slots[slot])
	}
	return d
}

func (p *Profile) price() {
	p.dirty = false
	whole := p.demand(p.whole)
	p.prices.slots = slices.Grow(p.prices.slots[:0], len(p.slots))
	for i, s := range p.slots {
		d := whole
		if s.seen >= p.config.SlotPods && s.days >= p.config.SlotDays {
			d = p.demand(s)
		}
		p.prices.slots = append(p.prices.slots, d)
		if i == 0 {
			p.prices.dearest = d
		}
		p.prices.dearest = dearer(p.prices.dearest, d)
	}
	p.prices.reach = 0
	slot := day.Seconds() / float64(len(p.slots))
	if !p.always && p.lives.Quantile(.5) <= slot {
		p.prices.reach = time.Duration(p.lives.Quantile(.9) * float64(time.Second))
	}
}

// halfConfident is all that usage without waiting is worth.
const halfConfident = .5

func (p *Profile) demand(of *pods) Demand {
	d := Demand{
		CPU:    Blend(of.evidence(0), p.prior.CPU, p.config.Credibility),
		Memory: Blend(of.evidence(1), p.prior.Memory, p.config.Credibility),
	}
	if p.unstalled {
		d.CPU.Confidence = min(d.CPU.Confidence, halfConfident)
	}
	return d
}

// dearer takes the larger amount of each resource.
func dearer(a, b Demand) Demand {
	if b.CPU.Amount > a.CPU.Amount {
		a.CPU = b.CPU
	}
	if b.Memory.Amount > a.Memory.Amount {
		a.Memory = b.Memory
	}
	return a
}
