package power

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/telemetry"
)

const (
	// endedShown is for how long a pod that has ended has its own series, for a scraper that
	// reads once a minute, and endedMost how many such series there are.
	endedShown = 2 * time.Minute
	endedMost  = 500
)

// ledger is who took the energy so far.
type ledger struct {
	closed  []sourceTotal // of sources that are not read, or were again since
	refused map[string]uint64
	rest    energy.Rest
	pods    map[string]*podAccount // by UID
	ended   []*podAccount          // those of pods that have ended, the first to first
	names   map[string]podName

	// Of the window that is being divided.
	uids      []string
	consumers []energy.Consumer
	shares    []energy.Share
	took      []agent.PodPower
}

// sourceTotal is what a zone of a source has counted.
type sourceTotal struct {
	source, zone string
	part         bool // contained in another zone
	joules       float64
}

// is reports whether it is the total of a source's zone.
func (s *sourceTotal) is(source string, t energy.ZoneTotal) bool {
	return s.source == source && s.zone == t.Zone && s.part == t.Part
}

// podAccount is what a pod took. Its variance has two parts: that of what the node was
// measured to take averages out over time, and adds in squares; how far load is from
// its share of it does not.
type podAccount struct {
	uid                     string
	joules, variance, drift float64
	begunAt                 time.Time // of the first window that it is charged for
	endedAt                 time.Time // zero while it runs
}

func (a *podAccount) sd() float64 { return math.Hypot(math.Sqrt(a.variance), a.drift) }

type podName struct{ namespace, name string }

func newLedger() ledger {
	return ledger{refused: map[string]uint64{"cpu": 0, "pods": 0}, pods: map[string]*podAccount{}, names: map[string]podName{}}
}

// refuse counts something that could not be read or used.
func (l *ledger) refuse(cause string) { l.refused[cause]++ }

// refuseAll counts what a meter has refused and reports whether that lost energy. The first
// reading of a zone loses none that was reported.
func (l *ledger) refuseAll(err error) (lost bool) {
	if err == nil {
		return false
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			lost = l.refuseAll(one) || lost
		}
		return lost
	}
	var zone *energy.ZoneError
	switch {
	case errors.Is(err, energy.ErrPriming):
		return false
	case errors.As(err, &zone):
		l.refuse(zone.Cause())
	default:
		l.refuse("malformed")
	}
	return true
}

// close keeps the totals of a source that is no longer read.
func (l *ledger) close(source string, totals []energy.ZoneTotal) {
	for _, t := range totals {
		i := slices.IndexFunc(l.closed, func(c sourceTotal) bool { return c.is(source, t) })
		if i < 0 {
			i = len(l.closed)
			l.closed = append(l.closed, sourceTotal{source: source, zone: t.Zone, part: t.Part})
		}
		l.closed[i].joules += t.Joules
	}
}

// observe learns the names of pods, from a source that knows them.
func (l *ledger) observe(pods []telemetry.Pod) {
	for i := range pods {
		if p := &pods[i]; p.Name != "" {
			l.names[p.UID] = podName{p.Namespace, p.Name}
		}
	}
	if len(l.names) <= 2*len(pods)+endedMost {
		return
	}
	there := make(map[string]bool, len(pods))
	for i := range pods {
		there[pods[i].UID] = true
	}
	for uid := range l.names {
		if !there[uid] && l.pods[uid] == nil {
			delete(l.names, uid)
		}
	}
}

// newest returns of each name the account of the pod that has it now: of a StatefulSet's pod that was
// replaced, that of the new one.
func (l *ledger) newest() map[podName]*podAccount {
	newest := make(map[podName]*podAccount, len(l.names))
	for uid, n := range l.names {
		if a := l.pods[uid]; a != nil && (newest[n] == nil || a.isNewer(newest[n])) {
			newest[n] = a
		}
	}
	return newest
}

// isNewer compares pods of one name: one that runs is newer than one that has ended, and of two that run
// the one that was charged later, since a replaced pod may take its time to end.
func (a *podAccount) isNewer(b *podAccount) bool {
	switch {
	case a.endedAt.IsZero() != b.endedAt.IsZero():
		return a.endedAt.IsZero()
	case !a.endedAt.Equal(b.endedAt):
		return a.endedAt.After(b.endedAt)
	case !a.begunAt.Equal(b.begunAt):
		return a.begunAt.After(b.begunAt)
	}
	return a.uid > b.uid
}

// charge adds a window's shares to the pods' accounts.
func (l *ledger) charge(w *window, residual float64) {
	for i, uid := range l.uids {
		a := l.pods[uid]
		if a == nil {
			a = &podAccount{uid: uid, begunAt: w.at}
			l.pods[uid] = a
		}
		joules := l.shares[i].Joules
		a.joules += joules
		a.drift += residual * joules
		if w.joules > 0 {
			part := joules / w.joules
			a.variance += part * part * w.variance
		}
	}
}

// moveEnded finds the pods that have ended, given those that there are by UID, and moves what
// those took that have for long to the rest.
func (l *ledger) moveEnded(there []telemetry.PodCPU, now time.Time) {
	for uid, a := range l.pods {
		_, runs := slices.BinarySearchFunc(there, uid, func(p telemetry.PodCPU, uid string) int { return strings.Compare(p.UID, uid) })
		switch {
		case runs && !a.endedAt.IsZero():
			a.endedAt = time.Time{}
			l.ended = slices.DeleteFunc(l.ended, func(e *podAccount) bool { return e == a })
		case !runs && a.endedAt.IsZero():
			a.endedAt = now
			l.ended = append(l.ended, a)
		}
	}
	slices.SortFunc(l.ended, func(a, b *podAccount) int {
		return cmp.Or(a.endedAt.Compare(b.endedAt), strings.Compare(a.uid, b.uid))
	})
	gone := max(len(l.ended)-endedMost, 0)
	for gone < len(l.ended) && now.Sub(l.ended[gone].endedAt) >= endedShown {
		gone++
	}
	for _, a := range l.ended[:gone] {
		l.rest.Ended += a.joules
		delete(l.pods, a.uid)
		delete(l.names, a.uid)
	}
	l.ended = slices.Delete(l.ended, 0, gone)
}
