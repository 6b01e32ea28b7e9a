package agent

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// PodState is how far a pod on the node has come.
type PodState uint8

const (
	// PodPending: nothing of the pod has run but, where its source can distinguish them,
	// init containers.
	PodPending PodState = iota
	// PodRunning: a container runs. Where the source cannot distinguish init containers,
	// theirs count.
	PodRunning
	// PodStopped: containers have run and none does, while the pod's sandbox or
	// cgroup is there: it is between two containers, or done.
	PodStopped
)

var podStates = [...]string{PodPending: "pending", PodRunning: "running", PodStopped: "stopped"}

func (s PodState) String() string {
	if int(s) < len(podStates) {
		return podStates[s]
	}
	return "unknown"
}

// Pod is a pod on the node, as its source sees it. It ends with its sandbox or
// its cgroup, not with a container.
type Pod struct {
	Key   reserve.PodKey
	State PodState
	// Starts is how many of its containers have started, init containers among
	// them.
	Starts int
}

// RunningPods are pods that run their first container.
func RunningPods(keys ...reserve.PodKey) []Pod {
	pods := make([]Pod, len(keys))
	for i, k := range keys {
		pods[i] = Pod{Key: k, State: PodRunning, Starts: 1}
	}
	return pods
}

// Bind is a scheduler's notice of a pod bound to the node.
type Bind struct {
	Pod reserve.PodKey
	// Inits is how many init containers start before the pod's own; it means
	// anything only if InitsKnown.
	Inits      int
	InitsKnown bool
	// Demand is what is known of what the pod takes; zero is nothing.
	Demand profile.Demand
}

// podRecord is what is known of a pod on the node.
type podRecord struct {
	Pod
	// BoundAt is when the notice of its bind came, zero if none did; Inits and
	// InitsKnown are those of the notice.
	BoundAt    time.Time `json:",omitzero"`
	Inits      int
	InitsKnown bool
	// RanAt is when its first container was seen to run, StoppedAt when it stopped
	// last and ResumedAt when it ran again after a stop; zero before.
	RanAt     time.Time `json:",omitzero"`
	StoppedAt time.Time `json:",omitzero"`
	ResumedAt time.Time `json:",omitzero"`
	// Earlier reports that it ran before the source was asked for the first time.
	Earlier bool
	// Loads reports that its own containers run, Loaded that they ever did.
	Loads, Loaded bool
	// Since is when Loads changed last, zero if it never did.
	Since time.Time `json:",omitzero"`
	// Demand is what was predicted of the pod, and Use what was measured of it.
	Demand profile.Demand `json:",omitzero"`
	Use    podUse         `json:",omitzero"`
}

// endedPod is a pod that has ended, whose load the usage may show for a moment more.
type endedPod struct {
	At time.Time
	podRecord
}

// counts reports whether the pod is one of n: from its first container to its end.
func (r *podRecord) counts() bool { return !r.RanAt.IsZero() }

// held reports whether the pod runs, but as far as is known no container of its own
// yet, whose load the usage could show.
func (r *podRecord) held() bool { return r.State == PodRunning && !r.Loads }

// observe takes in how far the pod has come.
func (r *podRecord) observe(at time.Time, pod Pod) {
	was := r.State
	r.Pod = pod
	if pod.State != PodPending && r.RanAt.IsZero() {
		r.RanAt = at
	}
	switch {
	case pod.State == PodStopped && was != PodStopped:
		r.StoppedAt = at
	case pod.State == PodRunning && was == PodStopped:
		r.ResumedAt = at
	}
}

// resumed is how long after its first container the pod ran again, 0 if it never
// did or if that was no init container's end.
func (r *podRecord) resumed() time.Duration {
	if after := r.ResumedAt.Sub(r.RanAt); !r.ResumedAt.IsZero() && after <= leadMost {
		return after
	}
	return 0
}

// load concludes whether the pod's own containers run, and reports whether they
// have begun to for the first time. A pod of which it is not known how many
// init containers it has is given the lead that pods here were seen to need.
func (r *podRecord) load(at time.Time, lead time.Duration) (began bool) {
	own := r.Earlier || at.Sub(r.RanAt) >= lead
	if r.InitsKnown {
		own = r.Earlier || r.Starts > r.Inits
	}
	loads := own && r.State == PodRunning
	if loads != r.Loads && (r.Loaded || !r.Earlier) {
		r.Since = at
	}
	r.Loads = loads
	began = r.Loads && !r.Loaded
	r.Loaded = r.Loaded || r.Loads
	return began
}

// podLog knows the pods on the node, and how many loaded it a moment ago.
type podLog struct {
	records []podRecord // by key, each once
	counted int         // of n
	held    int
	loading int
	// history holds the pods that load the node since one settling time ago,
	// oldest first; the first entry also stands for all time before it.
	history []podCount
	// ended are the pods that ended since then, oldest first, known counts those of
	// the records of which it is known what they take.
	ended []endedPod
	known int
	// earlier counts those of n that ran before the source was asked.
	earlier int
	// former and sorted are kept for their memory: a node that starts pods all the time
	// gets all of them several times a second.
	former []podRecord
	sorted []Pod
}

// keepEnded keeps pods that have ended for as long as a usage may show them.
func (l *podLog) keepEnded(at time.Time, gone []podRecord, settle time.Duration) {
	l.ended = slices.DeleteFunc(l.ended, func(e endedPod) bool { return at.Sub(e.At) >= settle })
	for _, r := range gone {
		if r.Loads || !r.Since.IsZero() {
			r.Use.KilledAt = time.Time{} // its load that the usage shows still was its peak at most
			l.ended = append(l.ended, endedPod{at, r})
		}
	}
	if len(l.ended) == 0 {
		l.ended = nil
	}
}

// set replaces the pods. gone are the records of those that have ended; changed
// reports that the pods that count are others than before.
func (l *podLog) set(at time.Time, pods []Pod, way *[]boundPod) (gone []podRecord, changed bool) {
	l.sorted = byKeyTo(l.sorted, pods)
	before := l.records
	next := slices.Grow(l.former[:0], max(1, len(l.sorted))) // none are not unknown: never nil
	end := func(r podRecord) {
		gone = append(gone, r)
		changed = changed || r.counts()
	}
	for _, pod := range l.sorted {
		for len(before) > 0 && before[0].Key < pod.Key {
			end(before[0])
			before = before[1:]
		}
		var r podRecord
		if len(before) > 0 && before[0].Key == pod.Key {
			r, before = before[0], before[1:]
		} else {
			r = arrive(pod.Key, way)
			r.Earlier = l.history == nil && pod.State == PodRunning
		}
		counted := r.counts()
		r.observe(at, pod)
		changed = changed || r.counts() != counted
		next = append(next, r)
	}
	for _, r := range before {
		end(r)
	}
	l.former, l.records = l.records, next
	return gone, changed || l.history == nil
}

// byKeyTo writes the pods by key to dst, each once: as it comes first.
func byKeyTo(dst, pods []Pod) []Pod {
	dst = append(dst[:0], pods...)
	slices.SortStableFunc(dst, func(a, b Pod) int { return cmp.Compare(a.Key, b.Key) })
	return slices.CompactFunc(dst, func(a, b Pod) bool { return a.Key == b.Key })
}

// arrive is the record of a pod that is new, with what a notice said of it.
func arrive(key reserve.PodKey, way *[]boundPod) podRecord {
	r := podRecord{Pod: Pod{Key: key}}
	if i := slices.IndexFunc(*way, func(b boundPod) bool { return b.Pod == key }); i >= 0 {
		b := (*way)[i]
		r.BoundAt, r.Inits, r.InitsKnown, r.Demand = b.At, b.Inits, b.InitsKnown, b.Demand
		*way = slices.Delete(*way, i, i+1)
	}
	return r
}

// find returns the record of a pod, nil if it is not on the node.
func (l *podLog) find(key reserve.PodKey) *podRecord {
	i, ok := slices.BinarySearchFunc(l.records, key, func(r podRecord, k reserve.PodKey) int { return cmp.Compare(r.Key, k) })
	if !ok {
		return nil
	}
	return &l.records[i]
}

// conclude counts the pods anew; began gets each whose own containers have begun
// to run.
func (l *podLog) conclude(at time.Time, lead time.Duration, began func(*podRecord)) {
	before := l.loading
	for i := range l.records {
		if r := &l.records[i]; r.load(at, lead) {
			began(r)
		}
	}
	l.count()
	if l.history == nil || l.loading != before {
		l.history = append(l.history, podCount{at, l.loading})
	}
}

// count sums up the records.
func (l *podLog) count() {
	l.counted, l.held, l.loading, l.known, l.earlier = 0, 0, 0, 0, 0
	for i := range l.records {
		r := &l.records[i]
		l.counted += one(r.counts())
		l.held += one(r.held())
		l.loading += one(r.Loads)
		l.known += one(r.knows())
		l.earlier += one(r.counts() && r.Earlier)
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// keysTo writes the pods that count to dst and returns it.
func (l *podLog) keysTo(dst []reserve.PodKey) []reserve.PodKey {
	dst = slices.Grow(dst[:0], l.counted)
	for i := range l.records {
		if l.records[i].counts() {
			dst = append(dst, l.records[i].Key)
		}
	}
	return dst
}

// measured returns the count at the given time and forgets what came before.
func (l *podLog) measured(at time.Time) int {
	i := 0
	for i+1 < len(l.history) && !l.history[i+1].At.After(at) {
		i++
	}
	l.history = slices.Delete(l.history, 0, i)
	if len(l.history) == 0 {
		return 0
	}
	return l.history[0].Count
}

// checkPods returns a *field.Error for the first pod that no source can mean.
func checkPods(pods []Pod) error {
	if len(pods) > kalman.MaxPods {
		return refuse("len(pods)", len(pods), "must be at most %d", kalman.MaxPods)
	}
	for i, p := range pods {
		if p.State > PodStopped {
			return refuse(index("pods", i, "State"), p.State, "is not a state")
		}
		if p.Starts < 0 {
			return refuse(index("pods", i, "Starts"), p.Starts, "must not be negative")
		}
	}
	return nil
}

// placeholderRecord is a pod that schedulers have named a placeholder.
type placeholderRecord struct {
	// Pod is as its source saw it last, if Here reports that it is on the node.
	Pod
	Here bool
	// Unnamed is since when no scheduler names it; zero while one does.
	Unnamed time.Time `json:",omitzero"`
}

// placeholderForget is how long a pod that is not on the node, and that is no longer named,
// is known for a placeholder: the notice of its deletion may come ahead of its container.
const placeholderForget = time.Minute

// placeholderLog knows the placeholders, by key.
type placeholderLog []placeholderRecord

func (l placeholderLog) find(key reserve.PodKey) (i int, known bool) {
	return slices.BinarySearchFunc(l, key, func(r placeholderRecord, k reserve.PodKey) int { return cmp.Compare(r.Key, k) })
}

func (l placeholderLog) has(key reserve.PodKey) bool {
	_, known := l.find(key)
	return known
}

// name takes the pods that a scheduler names as all placeholders there are. One that is on
// the node, or was named a moment ago, stays one: it does not become another pod.
func (l *placeholderLog) name(at time.Time, keys []reserve.PodKey) {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	next := make(placeholderLog, 0, len(*l)+len(keys))
	for _, r := range *l {
		if _, named := slices.BinarySearch(keys, r.Key); named {
			r.Unnamed = time.Time{}
		} else if r.Unnamed.IsZero() {
			r.Unnamed = at
		}
		next = append(next, r)
	}
	for _, key := range keys {
		if !l.has(key) {
			next = append(next, placeholderRecord{Pod: Pod{Key: key}})
		}
	}
	slices.SortFunc(next, func(a, b placeholderRecord) int { return cmp.Compare(a.Key, b.Key) })
	*l = next
	l.forget(at)
}

// hide returns the pods that are no placeholders, and whether those that are have changed.
func (l *placeholderLog) hide(at time.Time, pods []Pod) (rest []Pod, changed bool) {
	if l.forget(at); len(*l) == 0 {
		return pods, false
	}
	here := make([]bool, len(*l))
	rest = make([]Pod, 0, len(pods))
	for _, pod := range pods {
		i, placeholder := l.find(pod.Key)
		switch {
		case !placeholder:
			rest = append(rest, pod)
		case !here[i]:
			r := &(*l)[i]
			changed = changed || !r.Here || r.Pod != pod
			r.Pod, r.Here, here[i] = pod, true, true
		}
	}
	for i := range *l {
		if r := &(*l)[i]; r.Here && !here[i] {
			r.Here, changed = false, true
		}
	}
	return rest, changed
}

func (l *placeholderLog) forget(at time.Time) {
	*l = slices.DeleteFunc(*l, func(r placeholderRecord) bool {
		return !r.Here && !r.Unnamed.IsZero() && at.Sub(r.Unnamed) >= placeholderForget
	})
	if len(*l) == 0 {
		*l = nil
	}
}

// Placeholders takes the pods that a scheduler names as holding room on the node and running nothing:
// the complete list. They do not count in n. One that was counted before its first notice,
// as after a restart of the agent, is removed as if it had never existed; then
// a report may be due. Too many are a *field.Error and change nothing.
func (p *Pipeline) Placeholders(at time.Time, pods []reserve.PodKey) (Report, bool, error) {
	if len(pods) > kalman.MaxPods {
		return Report{}, false, refuse("len(pods)", len(pods), "must be at most %d", kalman.MaxPods)
	}
	at = at.UTC()
	p.placeholders.name(at, pods)
	p.pace.way = slices.DeleteFunc(p.pace.way, func(b boundPod) bool { return p.placeholders.has(b.Pod) })
	taken := p.pods.remove(p.placeholders.has)
	if len(taken) == 0 {
		return Report{}, false, nil
	}
	earlier := 0
	for i := range taken {
		r := &taken[i]
		j, _ := p.placeholders.find(r.Key)
		p.placeholders[j].Pod, p.placeholders[j].Here = r.Pod, true
		earlier += one(r.Earlier && r.Loads)
		p.pending = p.pending || r.counts()
	}
	p.recount(at)
	if err := p.discount(earlier); err != nil {
		return Report{}, false, err
	}
	return p.reportEvent(at)
}

// Placeholder reports whether a pod is known to be a placeholder.
func (p *Pipeline) Placeholder(pod reserve.PodKey) bool { return p.placeholders.has(pod) }

// discount has the estimator know that so many of the pods that were there from its
// beginning were none. Without it they would seem to have left, and to have taken
// nothing.
func (p *Pipeline) discount(pods int) error {
	if pods == 0 {
		return nil
	}
	states := p.estimator.StatesTo(nil)
	for i := range states {
		s := &states[i]
		s.MeanPods, s.LastPods = max(s.MeanPods-float64(pods), 0), max(s.LastPods-float64(pods), 0)
	}
	if err := p.estimator.SetStates(states); err != nil {
		return fmt.Errorf("agent: estimator: %w", err)
	}
	p.own = p.estimator.EstimatesTo(p.own)
	return nil
}

// remove takes pods out as if they had never been, and returns their records.
func (l *podLog) remove(named func(reserve.PodKey) bool) (taken []podRecord) {
	for i := range l.records {
		if named(l.records[i].Key) {
			taken = append(taken, l.records[i])
		}
	}
	if len(taken) == 0 {
		return nil
	}
	l.records = slices.DeleteFunc(l.records, func(r podRecord) bool { return named(r.Key) })
	l.ended = slices.DeleteFunc(l.ended, func(e endedPod) bool { return named(e.Key) })
	for i := range taken {
		l.erase(&taken[i])
	}
	l.count()
	return taken
}

// erase takes a pod out of the counts of which it was a part.
func (l *podLog) erase(r *podRecord) {
	for i := range l.history {
		if h := &l.history[i]; r.Loads && !h.At.Before(r.Since) && h.Count > 0 {
			h.Count--
		}
	}
}

// lists reports whether the log has these pods and no others, all as they are.
func (l *podLog) lists(pods []Pod) bool {
	l.sorted = byKeyTo(l.sorted, pods)
	return l.history != nil && slices.EqualFunc(l.sorted, l.records, func(p Pod, r podRecord) bool { return p == r.Pod })
}
