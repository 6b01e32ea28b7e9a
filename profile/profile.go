package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Profile learns what the pods of one workload take. What it says depends on the
// windows it has seen; time passing alone changes only the slot. A Profile
// is for one goroutine at a time.
type Profile struct {
	config     Config
	prior      Demand
	containers containers
	live       livePods
	day        *scope
	slots      []*scope // nil: no pod was seen in it
	lives      histogram
	limits     throttling
	kills      uint64
	always     bool
	unstalled  bool
	restarts   int
	restarted  time.Time // the last of them; not in the state
	revised    bool      // an older revision has shown its memory; not in the state
	revision   string
	began      time.Time // of the revision's first pod
	demands    demands
	dirty      bool
	scratch    []Evidence // of workloads on many nodes
}

// New returns a profile that knows nothing.
func New(c Config) (*Profile, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Profile{config: c.withDefaults(), dirty: true}
	p.lives = histogram{scale: lifetimes, halfLife: int64(p.config.podHalfLife)}
	p.day = newScope(p, -1)
	p.slots = make([]*scope, p.config.Slots)
	return p, nil
}

// slot is the evidence of a slot of the day.
func (p *Profile) slot(i int) *scope {
	if p.slots[i] == nil {
		p.slots[i] = newScope(p, i)
	}
	return p.slots[i]
}

// SetPrior says what pods like these take: those of the same template, say.
func (p *Profile) SetPrior(d Demand) error {
	if err := d.Validate(); err != nil {
		return err
	}
	if d != p.prior {
		p.prior, p.dirty = d, true
	}
	return nil
}

// Restarts counts how often three pods in a row contradicted what was known.
func (p *Profile) Restarts() int { return p.restarts }

// Contradicted is the time of the last window to do so, zero if none was observed by this
// process.
func (p *Profile) Contradicted() time.Time { return p.restarted }

// Revision is the newest that was seen.
func (p *Profile) Revision() string { return p.revision }

// OOMKills counts those of all windows.
func (p *Profile) OOMKills() uint64 { return p.kills }

// Throttled is the share of the periods of CPU limits in which they held pods up,
// of late.
func (p *Profile) Throttled() float64 { return p.limits.share() }

// Evidence is what the workload's own pods have shown of CPU and memory, whatever
// the slot of the day: the prior is not in it.
func (p *Profile) Evidence() (cpu, memory Evidence) { return p.day.evidence(0), p.day.evidence(1) }

// Lifetime is that quantile of how long pods have lived, 0 while none has ended.
func (p *Profile) Lifetime(quantile float64) time.Duration {
	return time.Duration(p.lives.quantile(quantile) * float64(time.Second))
}

// Observe takes a window that ended at a time. One of a pod that began before the
// newest revision did, and is of another, says nothing of what comes. A waiting time
// longer than the span counts as not measured, and the rest of the window counts.
func (p *Profile) Observe(at time.Time, w Window) error {
	if err := checkTime(at); err != nil {
		return err
	}
	if err := w.validate(); err != nil {
		return err
	}
	w.amend()
	if checkTime(at.Add(-w.Age)) != nil {
		return refuse("Window.Age", w.Age, "no longer than since 1970")
	}
	if err := p.record(at, &w); err != nil {
		return err
	}
	if w.Container != "" || !p.current(at, &w) {
		return nil
	}
	p.dirty, p.always = true, w.Always
	if !w.NoCPU {
		p.unstalled = !w.Pressure
	}
	p.limits.add(at, &w)
	slot, today := slotOf(at, p.config.Zone, len(p.slots))
	weight := p.weight(&w)
	l, fresh, moved := p.enter(at, &w, slot)
	before := l.day.peak
	memory := w.memory(before)
	l.day.add(&w, memory)
	l.inSlot.add(&w, memory)
	growing := w.growing(before, weight)
	if p.day.observe(l, weight, today, fresh, growing, w.Ended) {
		p.restarts, p.restarted = p.restarts+1, at
	}
	p.slot(slot).observe(l, weight, today, fresh || moved, growing, w.Ended)
	if w.Ended {
		p.leave(l)
		if !w.killed() {
			return p.lives.add(at, w.Age.Seconds(), 1)
		}
	}
	return nil
}

// enter is the live pod that a window is of, in the slot.
func (p *Profile) enter(at time.Time, w *Window, slot int) (l *livePod, fresh, moved bool) {
	node, pod := keyOf(w.Node), keyOf(w.Pod)
	i, known := p.live.find(node, pod)
	if !known {
		p.live = slices.Insert(p.live, i, livePod{node: node, pod: pod, slot: slot})
	}
	l = &p.live[i]
	if l.slot != slot {
		p.slot(l.slot).end(l)
		l.slot, moved = slot, true
	}
	l.ns = at.UnixNano()
	return l, !known, moved
}

// leave ends a live pod.
func (p *Profile) leave(l *livePod) {
	p.day.end(l)
	p.slot(l.slot).end(l)
	i, _ := p.live.find(l.node, l.pod)
	p.live = slices.Delete(p.live, i, i+1)
}

// Gone ends a pod whose last window never came; what it has shown stays.
func (p *Profile) Gone(pod string) {
	key := keyOf(pod)
	for _, c := range p.containers {
		c.end(key)
	}
	if i := slices.IndexFunc(p.live, func(l livePod) bool { return l.pod == key }); i >= 0 {
		p.leave(&p.live[i])
	}
}

// record keeps the window for recommendations.
func (p *Profile) record(at time.Time, w *Window) error {
	i, known := p.containers.find(w.Container)
	if !known {
		if len(p.containers) >= mostContainers {
			return refuse("Window.Container", w.Container, "one of at most 64 names")
		}
		p.containers = slices.Insert(p.containers, i, newContainer(w.Container, &p.config))
	}
	if w.Container == "" {
		p.kills += uint64(w.OOMKills)
	}
	return p.containers[i].observe(at, w)
}

// mostContainers bounds the names that a workload's pods may use.
const mostContainers = 64

// current reports whether the window is of the newest revision, which begins with the
// first pod that is of another and younger.
func (p *Profile) current(at time.Time, w *Window) bool {
	began := w.Created
	if began.IsZero() {
		began = at.Add(-w.Age)
	}
	if w.Revision == p.revision && !p.began.IsZero() {
		return true
	}
	if !p.began.IsZero() {
		if !began.After(p.began) {
			return false
		}
		p.day.restrict(revisionPods)
		for _, s := range p.slots {
			if s != nil {
				s.restrict(revisionPods)
			}
		}
		p.revised = p.memoryMaturity() == 1
		p.live = nil
	}
	p.revision, p.began = w.Revision, began
	return true
}

// The median age after which a pod's reading counts in full is bounded: nothing is
// known after less than ten seconds, all that matters here after ten minutes.
const leastFull, mostFull = 10 * time.Second, 10 * time.Minute

// weight is that of a pod at its age: full from the median age of the workload's
// ended pods on, of one that has ended from half of it on: what a node holds at any
// time is rather of pods that live long.
func (p *Profile) weight(w *Window) float64 {
	median := p.lives.quantile(.5)
	full := leastFull.Seconds()
	switch {
	case w.Ended:
		full = min(median/2, mostFull.Seconds())
	case median > 0:
		full = min(max(median, full), mostFull.Seconds())
	}
	age := max(w.Age.Seconds(), w.Span.Seconds())
	if age >= full {
		return 1
	}
	return age / full
}

// ErrInvalid is what every field.Error wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse makes a field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "profile", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// throttling is how often limits held pods up, weighted as CPU is.
type throttling struct {
	periods, throttled float64
	at                 time.Time
}

func (t *throttling) add(at time.Time, w *Window) {
	if w.Periods == 0 {
		return
	}
	weight := 1.
	if age := at.Sub(t.at); t.at.IsZero() || age > 0 {
		keep := 0.
		if !t.at.IsZero() {
			keep = math.Exp2(-age.Hours() / defaultHalfLife.Hours())
		}
		t.periods, t.throttled, t.at = t.periods*keep, t.throttled*keep, at
	} else {
		weight = math.Exp2(age.Hours() / defaultHalfLife.Hours())
	}
	t.periods += weight * float64(w.Periods)
	t.throttled += weight * float64(w.ThrottledPeriods)
}

func (t *throttling) share() float64 {
	if t.periods == 0 {
		return 0
	}
	return min(t.throttled/t.periods, 1)
}

// resources are the CPU and, memoryOf, memory.
const resources, memoryOf = 2, 1

// keyOf is the FNV-1a hash of the name of a pod or a node: names are compared often
// and kept for every pod.
func keyOf(name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * prime
	}
	return hash
}

// livePod is what a live pod has taken so far, in all and in its slot of the day,
// and what that counts for. A later reading of the pod replaces the earlier one.
type livePod struct {
	node, pod uint64
	ns        int64 // since 1970, of its last window
	slot      int
	day       reading
	inSlot    reading
}

func (l *livePod) at() time.Time { return time.Unix(0, l.ns) }

// reading is a pod's in the evidence of a scope.
type reading struct {
	sums
	weight [resources]float64 // 0: not in the evidence
}

// sums are of a pod's windows.
type sums struct {
	cpu, seconds, peak float64
}

func (s *sums) add(w *Window, memory float64) {
	if !w.NoCPU {
		s.cpu += w.CPU + w.waited()
		s.seconds += w.Span.Seconds()
	}
	s.peak = max(s.peak, memory)
}

// knows reports whether a resource was measured: no process takes no memory.
func (s *sums) knows(r int) bool {
	if r == 0 {
		return s.seconds > 0
	}
	return s.peak > 0
}

// amount is the mean of CPU and the peak of memory.
func (s *sums) amount(r int) float64 {
	if r == 0 {
		return s.cpu / s.seconds
	}
	return s.peak
}

// livePods are in the order of nodes and pods.
type livePods []livePod

func (l livePods) find(node, pod uint64) (i int, known bool) {
	return slices.BinarySearchFunc(l, livePod{node: node, pod: pod}, func(a, b livePod) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.pod, b.pod))
	})
}

// pod is the live pod of those keys, nil if there is none.
func (l livePods) pod(node, pod uint64) *livePod {
	if i, known := l.find(node, pod); known {
		return &l[i]
	}
	return nil
}
