package profiler

import (
	"container/list"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/spazio-scheduler/spazio/profile"
)

// workload is what is kept of one.
type workload struct {
	of       profile.Workload
	template uint64
	profile  *profile.Profile
	// containers are those of the pod that was shown last; nil is not known.
	containers []string
	inRecent   *list.Element
	inOf       *list.Element // of its namespace

	seen     time.Time // its last pod or window
	measured time.Time // its last window
	pods     int64     // measured

	tuning  *tuning // nil: the continuous profiler is off
	object  object
	pending time.Time // since when there is something to publish; zero: there is not
	marked  bool      // in Store.changed
	queued  bool      // in Store.first or Store.urgent
	again   bool      // to be published whatever was measured
	retry   time.Time // no write before
	shard   int
	dropped bool
}

// object is what the API has of a workload.
type object struct {
	exists bool
	demand profile.Demand // as published
	at     time.Time
	stale  bool
	spec   Spec
}

// known returns when the workload was last measured, by this replica or the published profile.
func (w *workload) known() time.Time {
	if w.object.at.After(w.measured) {
		return w.object.at
	}
	return w.measured
}

// stale reports whether that is at least StaleAfter ago.
func (w *workload) stale(at time.Time) bool {
	known := w.known()
	return !known.IsZero() && at.Sub(known) >= StaleAfter
}

// demand returns what is known of the workload's pods, ok if it is anything.
func (w *workload) demand(at time.Time) (d profile.Demand, ok bool) {
	d = w.profile.Demand(at, 0)
	return d, d.CPU.Confidence > 0 || d.Memory.Confidence > 0
}

// nameable reports whether objects can name the workload and its revision.
func nameable(w profile.Workload, revision string) bool {
	return w.Namespace != "" && w.Kind != "" && w.Name != "" && len(w.Kind) <= 63 && len(w.Name) <= 253 && len(revision) <= 253
}

// workload returns the one of that name, made if there is none.
func (s *Store) workload(at time.Time, of profile.Workload, template uint64) (*workload, error) {
	if w := s.workloads[of]; w != nil {
		return w, nil
	}
	p, err := profile.New(s.config.profile)
	if err != nil {
		return nil, err
	}
	return s.add(at, &workload{of: of, template: template, profile: p}), nil
}

// lasting is a workload's name to keep: of the object that it was read from nothing stays
// in memory, and few namespaces and kinds are those of many.
func lasting(w profile.Workload) profile.Workload {
	return profile.Workload{
		Namespace: unique.Make(w.Namespace).Value(), Kind: unique.Make(w.Kind).Value(), Name: strings.Clone(w.Name),
	}
}

// add keeps a workload, for which others may have to go.
func (s *Store) add(at time.Time, w *workload) *workload {
	w.of = lasting(w.of)
	siblings := s.of[w.of.Namespace]
	if siblings == nil {
		siblings = list.New()
	}
	if siblings.Len() >= s.config.maxOfNamespace {
		s.evict(at, siblings)
	}
	if s.recent.Len() >= s.config.MaxWorkloads {
		s.evict(at, s.recent)
	}
	if !s.config.Continuous.off() {
		w.tuning = &tuning{}
	}
	s.of[w.of.Namespace] = siblings // the last one of a namespace took it along
	s.workloads[w.of] = w
	w.inRecent, w.inOf = s.recent.PushFront(w), siblings.PushFront(w)
	w.seen = at
	s.join(w)
	w.shard = shardOf(w.of)
	s.shards[w.shard].of = append(s.shards[w.shard].of, w)
	s.refreshes.push(w, at.Add(s.config.Refresh))
	return w
}

func (s *Store) evict(at time.Time, from *list.List) {
	if w, ok := from.Back().Value.(*workload); ok {
		s.stats.Evicted++
		s.drop(at, w)
	}
}

// drop forgets a workload; its objects are to go.
func (s *Store) drop(at time.Time, w *workload) {
	w.dropped = true
	delete(s.workloads, w.of)
	s.recent.Remove(w.inRecent)
	siblings := s.of[w.of.Namespace]
	if siblings.Remove(w.inOf); siblings.Len() == 0 {
		delete(s.of, w.of.Namespace)
	}
	s.leave(w)
	of := &s.shards[w.shard]
	i := slices.Index(of.of, w)
	of.of = slices.Delete(of.of, i, i+1)
	s.unsaved(at, w)
	s.gone = append(s.gone, w.of)
}

// markSeen moves the workload to the front.
func (s *Store) markSeen(at time.Time, w *workload) {
	if at.After(w.seen) {
		w.seen = at
	}
	s.recent.MoveToFront(w.inRecent)
	s.of[w.of.Namespace].MoveToFront(w.inOf)
}

// forget drops workloads that nothing was seen of for long.
func (s *Store) forget(at time.Time) {
	for e := s.recent.Back(); e != nil; e = s.recent.Back() {
		w, ok := e.Value.(*workload)
		if !ok || at.Sub(w.seen) < s.config.Forget {
			return
		}
		s.stats.Forgotten++
		s.drop(at, w)
	}
}

// groupKey is what workloads share that are alike except for their names, as jobs that
// have a new one each run.
type groupKey struct {
	namespace string
	template  uint64
}

func (w *workload) group() groupKey { return groupKey{w.of.Namespace, w.template} }

const (
	// mostAlike are asked what a new workload of their group will take, the last
	// ones that came.
	mostAlike = 64
	// fewPods of its own are as many as make what others show of little weight.
	fewPods = 4
)

// join enters the workload into its group; template 0 is unknown, and alone.
func (s *Store) join(w *workload) {
	if w.template == 0 {
		return
	}
	key := w.group()
	s.groups[key] = append(s.groups[key], w)
	s.expect(w)
}

func (s *Store) leave(w *workload) {
	key := w.group()
	members := s.groups[key]
	i := slices.Index(members, w)
	if i < 0 {
		return
	}
	if s.groups[key] = slices.Delete(members, i, i+1); len(members) == 1 {
		delete(s.groups, key)
	}
}

// become gives the workload the template of its newest pod.
func (s *Store) become(w *workload, template uint64) {
	if w.template != template {
		s.leave(w)
		w.template = template
		s.join(w)
	}
}

// expect makes what the others of its group take the workload's prior.
func (s *Store) expect(w *workload) {
	members := s.groups[w.group()]
	if len(members) < 2 || w.pods >= fewPods {
		return
	}
	var cpu, memory []profile.Evidence
	for _, m := range members[max(0, len(members)-mostAlike):] {
		if m == w {
			continue
		}
		itsCPU, itsMemory := m.profile.Evidence()
		cpu, memory = append(cpu, itsCPU), append(memory, itsMemory)
	}
	// An amount out of range would be an error of Evidence; there is no prior then.
	_ = w.profile.SetPrior(s.config.profile.Prior(cpu, memory))
}

// Expect makes a demand from elsewhere, as from recorded history, the prior of a
// workload of which nothing was measured; it is believed by half at most.
func (s *Store) Expect(at time.Time, of profile.Workload, d profile.Demand) {
	const half = .5
	d.CPU.Confidence, d.Memory.Confidence = min(d.CPU.Confidence, half), min(d.Memory.Confidence, half)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workloads[of]
	if w == nil || !w.measured.IsZero() || w.profile.SetPrior(d) != nil {
		return
	}
	s.mark(at, w)
}
