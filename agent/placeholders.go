package agent

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/reserve"
)

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
func (l *podLog) remove(named func(reserve.PodKey) bool) (taken []PodRecord) {
	for i := range l.records {
		if named(l.records[i].Key) {
			taken = append(taken, l.records[i])
		}
	}
	if len(taken) == 0 {
		return nil
	}
	l.records = slices.DeleteFunc(l.records, func(r PodRecord) bool { return named(r.Key) })
	l.ended = slices.DeleteFunc(l.ended, func(e endedPod) bool { return named(e.Key) })
	for i := range taken {
		l.erase(&taken[i])
	}
	l.count()
	return taken
}

// erase takes a pod out of the counts of which it was a part.
func (l *podLog) erase(r *PodRecord) {
	for i := range l.history {
		if h := &l.history[i]; r.Loads && !h.At.Before(r.Since) && h.Count > 0 {
			h.Count--
		}
	}
}

// lists reports whether the log has these pods and no others, all as they are.
func (l *podLog) lists(pods []Pod) bool {
	l.sorted = byKeyTo(l.sorted, pods)
	return l.history != nil && slices.EqualFunc(l.sorted, l.records, func(p Pod, r PodRecord) bool { return p == r.Pod })
}
