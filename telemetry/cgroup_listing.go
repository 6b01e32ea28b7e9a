package telemetry

import "slices"

// podListing is the list of pods that an event carries, kept up to date pod by
// pod: it is as long as the node has pods, and changes with one at a time.
type podListing struct {
	// byUID holds the cgroups of a UID: more than one while one lingers that the
	// kubelet no longer uses.
	byUID map[string][]*pod
	pods  []Pod // sorted
	// stale: pods may differ from reported, which the last event carried.
	stale    bool
	reported []Pod
}

func newPodListing() podListing { return podListing{byUID: map[string][]*pod{}} }

func (l *podListing) add(p *pod) { l.byUID[p.uid] = append(l.byUID[p.uid], p) }

func (l *podListing) remove(p *pod) {
	p.present = false
	rest := slices.DeleteFunc(l.byUID[p.uid], func(q *pod) bool { return q == p })
	l.byUID[p.uid] = rest
	if len(rest) == 0 {
		delete(l.byUID, p.uid)
	}
	l.update(p)
}

// update lists the UID of p as its cgroups are now: as the one that has come
// farthest, running above all.
func (l *podListing) update(p *pod) {
	best, present := Pod{UID: p.uid}, false
	for _, q := range l.byUID[p.uid] {
		if q.present && (!present || isAhead(q.state, best)) {
			best, present = q.state, true
		}
	}
	at, listed := slices.BinarySearchFunc(l.pods, best, Pod.compare)
	switch {
	case present && listed:
		l.pods[at] = best
	case present:
		l.pods = slices.Insert(l.pods, at, best)
	case listed:
		l.pods = slices.Delete(l.pods, at, at+1)
	}
	l.stale = true
}

func isAhead(p, q Pod) bool {
	if running := p.State == PodRunning; running != (q.State == PodRunning) {
		return running
	}
	return p.Starts > q.Starts
}

// changed returns the pods, for the caller to keep, if they differ from those that
// it returned last.
func (l *podListing) changed() (pods []Pod, ok bool) {
	if !l.stale {
		return nil, false
	}
	l.stale = false
	if slices.Equal(l.pods, l.reported) {
		return nil, false
	}
	l.reported = append(l.reported[:0], l.pods...)
	return slices.Clone(l.pods), true
}
