package profiler

import (
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Update is what to publish about a workload, or that it has gone.
type Update struct {
	Workload profile.Workload
	// Gone: the workload's objects are to be deleted; the rest is empty.
	Gone bool
	// Since is when the oldest part of what is new was observed.
	Since time.Time

	At        time.Time
	Revision  string
	Pods      int64
	Demand    profile.Demand
	Slots     []profile.Demand
	P50, P90  time.Duration // of lifetimes, 0 while no pod has ended
	Throttled float64
	OOMKills  uint64
	// Recommendations are within the bounds of the object's Spec.
	Recommendations []profile.Recommendation
	// Contradicted is when pods last contradicted what was known; zero if never.
	Contradicted time.Time
	// Stale: no pod was measured for StaleAfter. At is still that of the update before.
	Stale bool
	// Factors are the continuous profiler's, nil where there are none; Corrected says
	// that the recommendations are by them.
	Factors   *continuous.Factors
	Corrected bool
	// Application is what the workload was found to be a part of, Connections are its
	// calls, those that carry most first.
	Application string
	Connections []connection.Flow

	again bool
}

// StaleAfter is the time without a measurement after which a profile is stale: a day, in which
// schedulers have halved their confidence in it.
const StaleAfter = 24 * time.Hour

// Spec is what the owner of a profile's object asks for.
type Spec struct {
	Preset string
	Bounds profile.Bounds
	// Application is what the workload is a part of, whatever the label of its pods says;
	// empty leaves it to that.
	Application string
}

// Object is what the API server has about a workload.
type Object struct {
	Workload profile.Workload
	Spec     Spec
	// Demand is what is published, At when it was found; zero if nothing is.
	Demand profile.Demand
	At     time.Time
	Stale  bool
	// Factors and Application are those that were published, with which a Store that has
	// none begins.
	Factors     continuous.Factors
	Application string
}

// mark notes that something about the workload was observed.
func (s *Store) mark(at time.Time, w *workload) {
	if w.pending.IsZero() {
		w.pending = at
	}
	if w.queued {
		return
	}
	if !w.object.exists {
		if _, ok := w.demand(at); ok {
			w.queued = true
			s.first.push(w)
		}
		return
	}
	if !w.marked {
		w.marked = true
		s.changed = append(s.changed, w)
	}
}

// Changed returns at most so many updates, most urgent first: workloads never
// published, each namespace in turn; those whose amounts changed, or whose
// confidence did by an eighth; those that were published a while ago; those that
// went. The caller reports each back with Published or Failed.
func (s *Store) Changed(at time.Time, most int) []Update {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(at)
	var updates []Update
	add := func(w *workload) {
		if u, ok := s.update(at, w); ok {
			updates = append(updates, u)
		}
	}
	for tries := s.first.count; tries > 0 && len(updates) < most; tries-- {
		switch w := s.first.pop(); {
		case w.dropped:
		case at.Before(w.retry):
			s.first.push(w)
		default:
			// Another replica may have published it since.
			if w.queued = false; w.object.exists {
				s.mark(at, w)
			} else {
				add(w)
			}
		}
	}
	s.judge(at)
	for len(s.urgent) > 0 && len(updates) < most {
		w := s.urgent[0]
		s.urgent = s.urgent[1:]
		if w.queued = false; !w.dropped && s.isChanged(at, w) {
			add(w)
		}
	}
	for len(updates) < most {
		w := s.refreshes.pop(at)
		if w == nil {
			break
		}
		s.refreshes.push(w, at.Add(s.config.Refresh))
		refresh := w.object.exists && w.measured.After(w.object.at) && at.Sub(w.object.at) >= s.config.Refresh
		if (refresh || w.again || w.stale(at) && !w.object.stale && w.object.exists) && !w.queued {
			add(w)
		}
	}
	for len(s.gone) > 0 && len(updates) < most {
		of := s.gone[0]
		s.gone = s.gone[1:]
		if s.workloads[of] == nil { // it may have come back
			updates = append(updates, Update{Workload: of, Gone: true, Since: at})
		}
	}
	return updates
}

// judge finds which observed workloads differ from what is published.
func (s *Store) judge(at time.Time) {
	for i, w := range s.changed {
		s.changed[i] = nil
		if w.marked = false; !w.dropped && !w.queued && s.isChanged(at, w) {
			w.queued = true
			s.urgent = append(s.urgent, w)
		}
	}
	s.changed = s.changed[:0]
}

// isChanged reports whether there is something to publish of a workload now.
func (s *Store) isChanged(at time.Time, w *workload) bool {
	d, ok := w.demand(at)
	awake := w.object.stale && !w.stale(at)
	if !ok || w.object.exists && !awake && !w.again && !differs(d, w.object.demand) {
		w.pending = time.Time{}
		return false
	}
	return !at.Before(w.retry) // else the next window asks again
}

// confidenceStep is the change of confidence that is published.
const confidenceStep = .125

// differs reports whether a demand is to be published in the place of the published one.
func differs(d, published profile.Demand) bool {
	return differ(d.CPU, published.CPU, 1e-3) || differ(d.Memory, published.Memory, 1024)
}

// differ compares an amount with the published one, which was rounded up to a step of an
// eighth of an octave, and to a whole unit. An amount must be lower by another step to be
// published: otherwise one beside a step would be published again and again.
func differ(s, published profile.Share, unit float64) bool {
	const rounding = 1e-9
	above := s.Amount > published.Amount*(1+rounding)
	below := math.Ceil(s.Amount*math.Exp2(2./8)/unit)*unit < published.Amount*(1-rounding)
	return above || below || math.Abs(s.Confidence-published.Confidence) >= confidenceStep
}

// update returns what is known about a workload; not ok if that is nothing.
func (s *Store) update(at time.Time, w *workload) (Update, bool) {
	d, ok := w.demand(at)
	if !ok {
		return Update{}, false
	}
	u := Update{
		Workload: w.of, Since: w.pending, At: at, Revision: w.profile.Revision(), Pods: w.pods, Demand: d.Published(),
		P50: w.profile.Lifetime(.5), P90: w.profile.Lifetime(.9), Throttled: w.profile.Throttled(), OOMKills: w.profile.OOMKills(),
		Contradicted: w.profile.Contradicted(), Stale: w.stale(at), again: w.again,
	}
	w.again = false
	if u.Stale {
		u.At = w.known()
	}
	if u.Since.IsZero() {
		u.Since = at
	}
	if slots := w.profile.Slots(); len(slots) > 1 {
		for _, d := range slots {
			u.Slots = append(u.Slots, d.Published())
		}
	}
	u.Recommendations = s.recommend(at, w)
	s.addContinuous(&u, w)
	w.pending = time.Time{}
	return u, true
}

// preset returns the preset of a name, else that of the configuration.
func (s *Store) preset(name string) profile.Preset {
	for _, p := range profile.Presets() {
		if p.Name == name {
			return p
		}
	}
	return s.config.Preset
}

// Published notes that the API has an update.
func (s *Store) Published(u Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workloads[u.Workload]; w != nil && !u.Gone {
		w.object.exists, w.object.demand, w.object.at, w.object.stale = true, u.Demand, u.At, u.Stale
		w.retry = time.Time{}
	}
}

// retryAfter is the time after which a failed update is tried again.
const retryAfter = 5 * time.Second

// Failed notes that the API did not take an update.
func (s *Store) Failed(at time.Time, u Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workloads[u.Workload]
	switch {
	case u.Gone && w == nil:
		s.gone = append(s.gone, u.Workload)
	case !u.Gone && w != nil:
		w.retry, w.pending, w.again = at.Add(retryAfter), u.Since, w.again || u.again
		s.mark(at, w)
	}
}

// Observed notes what the API server has about a workload, whichever replica wrote it: this
// one may be the next to write.
func (s *Store) Observed(at time.Time, o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !nameable(o.Workload, "") {
		return
	}
	w := s.workloads[o.Workload]
	if w == nil {
		var err error
		if w, err = s.workload(at, o.Workload, 0); err != nil {
			return
		}
		if !o.At.IsZero() {
			w.seen = o.At
		}
	}
	changed := w.object.spec != o.Spec || w.object.demand != o.Demand
	w.object = object{exists: true, demand: o.Demand, at: o.At, stale: o.Stale, spec: o.Spec}
	w.tuning.begin(o.Factors, o.Application)
	if changed {
		s.mark(at, w)
	}
}

// Lost notes that the API has no object of a workload any more.
func (s *Store) Lost(at time.Time, of profile.Workload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workloads[of]; w != nil {
		w.object = object{}
		s.mark(at, w)
	}
}

// Advice is what is recommended for a workload now. It is a plain value, safe for
// concurrent reading.
type Advice struct {
	// Recommendations are by container, within the bounds of the owner's Spec.
	Recommendations []profile.Recommendation
	// Demand has the confidence in what is known.
	Demand profile.Demand
	Stale  bool
}

// Advise returns what is recommended for a workload; not ok if nothing is known about it.
func (s *Store) Advise(at time.Time, of profile.Workload) (Advice, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workloads[of]
	if w == nil {
		return Advice{}, false
	}
	demand, ok := w.demand(at)
	if !ok {
		return Advice{}, false
	}
	return Advice{Recommendations: s.recommend(at, w), Demand: demand, Stale: w.stale(at)}, true
}

// recommend is what the containers of the workload's pods should request.
func (s *Store) recommend(at time.Time, w *workload) []profile.Recommendation {
	if s.corrects(w) {
		return s.corrected(at, w)
	}
	return s.learnt(at, w, w.object.spec.Bounds)
}

// learnt is the same without the continuous profiler's correction.
func (s *Store) learnt(at time.Time, w *workload, bounds profile.Bounds) (all []profile.Recommendation) {
	preset := s.preset(w.object.spec.Preset)
	// Bounds that exclude one another have been refused by the API server.
	all, _ = w.profile.Recommend(at, preset, bounds, w.containers...)
	return all
}

// Peak is the largest amount of memory that a pod's container was seen with, 0 if it
// was not measured.
func (s *Store) Peak(uid, container string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reserve.KeyOf(uid)
	p := s.pods[key]
	if p == nil || p.of == nil {
		return 0
	}
	return p.of.profile.Peak(nameOf(key), container, p.of.containers)
}

// Again has a workload published although nothing was measured, because its object is
// outdated in something that a Store does not know.
func (s *Store) Again(at time.Time, of profile.Workload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workloads[of]; w != nil {
		w.again = true
		s.mark(at, w)
	}
}
