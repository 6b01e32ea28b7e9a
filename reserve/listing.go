package reserve

import (
	"slices"
	"time"
)

// listing is what a report lists, ascending. It is never changed; nil lists nothing.
type listing struct {
	incarnation uint64
	pods        []PodKey
}

func newListing(incarnation uint64, pods []PodKey) *listing {
	pods = slices.Clone(pods)
	slices.Sort(pods)
	return &listing{incarnation: incarnation, pods: slices.Compact(pods)}
}

func (l *listing) has(pod PodKey) bool {
	if l == nil {
		return false
	}
	_, ok := slices.BinarySearch(l.pods, pod)
	return ok
}

// repeats reports whether a report lists the same again.
func (l *listing) repeats(incarnation uint64, pods []PodKey) bool {
	return l != nil && l.incarnation == incarnation && slices.Equal(l.pods, pods)
}

// missingFrom calls f for each of the pods that other does not list.
func (l *listing) missingFrom(other *listing, f func(PodKey)) {
	if l == nil {
		return
	}
	for _, pod := range l.pods {
		if !other.has(pod) {
			f(pod)
		}
	}
}

// unlisted is a pod that a report listed, that the next did not list and that was not
// claimed by then: it may have ended before the API's event of its bind came.
type unlisted struct {
	pod PodKey
	at  time.Time
}

// unlistedMost bounds them on each node, whatever its reports list: a node that
// ends twenty pods a second, and a watch that lags by ten seconds, need 200.
const unlistedMost = 512

// remember keeps a pod until linger has passed, or the node has too many.
func (a *Account) remember(pod PodKey, now time.Time) {
	if len(a.unlisted) == unlistedMost {
		a.unlisted = slices.Delete(a.unlisted, 0, 1)
	}
	a.unlisted = append(a.unlisted, unlisted{pod, now})
}

// prune forgets the pods that were unlisted linger or longer ago, up to the first
// that was not.
func (a *Account) prune(now time.Time, linger time.Duration) {
	old := slices.IndexFunc(a.unlisted, func(u unlisted) bool { return now.Sub(u.at) < linger })
	if old < 0 {
		a.unlisted = nil
		return
	}
	a.unlisted = slices.Delete(a.unlisted, 0, old)
}

// counts reports whether a report lists the pod, or did so a moment ago.
func (a *Account) counts(pod PodKey) bool {
	return a.listing.has(pod) || slices.ContainsFunc(a.unlisted, func(u unlisted) bool { return u.pod == pod })
}
