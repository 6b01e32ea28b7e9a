package node

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// window is the time between two looks at the pods.
type window struct {
	begun bool
	at    time.Time
	node  telemetry.NodeCPU
	tree  time.Duration
	pods  []telemetry.PodCPU // by UID

	// joules and variance sum up what was taken, idle what would have been without load;
	// idleKnown is that it was known in all intervals.
	joules, variance, idle float64
	seconds                float64   // of the intervals
	packages               []float64 // joules of each, where the processor counts them
	idleKnown              bool
	intervals              int
	curve                  *energy.Curve
	// broken: some of the energy that was taken is not in joules.
	broken bool
}

// due reports whether it is time for the next look. A tick early is in time.
func (w *window) due(at time.Time, period time.Duration) bool {
	return !w.begun || at.Sub(w.at) > period-200*time.Millisecond
}

// add takes an interval in which nothing was lost.
func (w *window) add(curve *energy.Curve, seconds float64, packages []float64) {
	for i, joules := range packages {
		if i == len(w.packages) {
			w.packages = append(w.packages, 0)
		}
		w.packages[i] += joules
	}
	idle, known := curve.Idle()
	w.idleKnown = known && (w.idleKnown || w.intervals == 0)
	w.intervals++
	w.idle += idle * seconds
	w.seconds += seconds
	w.curve = curve
}

// addPart takes an interval in which zones were missing: of the joules of the others the
// idle power has the part that it has of the node's at utilisation u. Load would be charged
// all of them else.
func (w *window) addPart(curve *energy.Curve, u, joules float64) {
	idle, known := curve.Idle()
	if all, _ := curve.At(u); known && all.Watts > 0 {
		w.idle += joules * min(idle/all.Watts, 1)
	}
}

// restart begins the next window with what was read at its end.
func (w *window) restart(cpu *telemetry.CPUUsage) {
	pods := append(w.pods[:0], cpu.Pods...)
	*w = window{begun: true, at: cpu.At, node: cpu.Node, tree: cpu.Tree, pods: pods, packages: w.packages[:0]}
}

// divide divides the energy of the window that ends now among the pods, and returns what
// they took, unless some of that is lost. The first window has no result.
func (m *powerMeter) divide(at time.Time) (took []agent.PodPower, ok bool) {
	w, l := &m.window, &m.ledger
	defer w.restart(&m.cpu)
	span := at.Sub(w.at)
	if !w.begun || span <= 0 {
		return nil, false
	}
	l.consume(w.pods, m.cpu.Pods, span, m.cpu.Node.Cores)
	residual, err := m.attribute(span)
	if err != nil {
		cause := "split"
		if errors.Is(err, energy.ErrBackwards) || errors.Is(err, energy.ErrImplausible) {
			cause = "cpu"
		}
		l.refuse(cause)
		l.rest.System += w.joules
		return nil, false
	}
	l.charge(w, residual)
	l.moveEnded(m.cpu.Pods, at)
	return l.tookTo(span.Seconds(), m.cpu.Node.Cores), !w.broken
}

// attribute divides the energy of the window into the ledger's shares and rest.
func (m *powerMeter) attribute(span time.Duration) (residual float64, err error) {
	w, l := &m.window, &m.ledger
	cores := float64(m.cpu.Node.Cores)
	grown, err := energy.GrownTime(w.node.Busy, m.cpu.Node.Busy, span, cores)
	if err != nil {
		return 0, err
	}
	busy, capacity := grown.Seconds(), span.Seconds()*cores
	if w.curve != nil && capacity > 0 {
		u := min(busy/capacity, 1)
		residual = math.Hypot(w.curve.Residual(u), w.curve.Uneven(u, w.seconds, w.packages))
	}
	shares, rest, err := m.config.Split.AttributeTo(l.shares, &energy.Account{
		Joules: w.joules, SD: math.Sqrt(w.variance), Idle: w.idle, IdleKnown: w.idleKnown,
		Busy: busy, Tree: m.treeUsed(span), Capacity: capacity,
		Residual: residual, Consumers: l.consumers,
	})
	l.shares = shares
	if err != nil {
		return 0, err
	}
	l.rest.Idle += rest.Idle
	l.rest.System += rest.System
	l.rest.Ended += rest.Ended
	m.ratio = rest.RatioSplit && w.intervals > 0
	return residual, nil
}

// treeUsed returns the CPU time that all pods used in the window, in seconds: 0, as far as is
// known, where that was not read at its beginning or end, ran backwards or leapt.
func (m *powerMeter) treeUsed(span time.Duration) float64 {
	if m.window.tree == 0 || m.cpu.Tree == 0 {
		return 0
	}
	used, err := energy.GrownTime(m.window.tree, m.cpu.Tree, span, float64(m.cpu.Node.Cores))
	if err != nil {
		m.ledger.refuse("cpu")
	}
	return used.Seconds()
}

// consume lists the pods that used CPU time in the window. A pod that was there before, and
// was not read at the window's beginning, has used what is not known, and so has one whose
// counter ran backwards or leapt.
func (l *ledger) consume(before, now []telemetry.PodCPU, span time.Duration, cores int) {
	l.consumers, l.uids = l.consumers[:0], l.uids[:0]
	for i := range now {
		p := &now[i]
		for len(before) > 0 && before[0].UID < p.UID {
			before = before[1:]
		}
		last := time.Duration(0)
		if len(before) > 0 && before[0].UID == p.UID {
			last = before[0].CPU
		} else if p.AgeUnknown || l.pods[p.UID] != nil {
			continue
		}
		used, err := energy.GrownTime(last, p.CPU, span, float64(cores))
		if err != nil {
			l.refuse("pods")
			continue
		}
		l.uids = append(l.uids, p.UID)
		l.consumers = append(l.consumers, energy.Consumer{Key: uint64(len(l.consumers)), CPU: used.Seconds(), Weight: 1})
	}
}

// tookTo returns what the consumers took in a window of so many seconds, sorted by key;
// of two pods of one key the first. None took more than the machine's cores.
func (l *ledger) tookTo(seconds float64, cores int) []agent.PodPower {
	most := max(min(float64(cores), energy.MaxCores), agent.LeastCores)
	l.took = l.took[:0]
	for i, uid := range l.uids {
		l.took = append(l.took, agent.PodPower{
			Pod:   reserve.KeyOf(uid),
			Cores: float32(min(max(l.consumers[i].CPU/seconds, agent.LeastCores), most)),
			Watts: float32(min(max(l.shares[i].Joules/seconds, 0), energy.MaxWatts)),
		})
	}
	slices.SortStableFunc(l.took, func(a, b agent.PodPower) int { return cmp.Compare(a.Pod, b.Pod) })
	l.took = slices.CompactFunc(l.took, func(a, b agent.PodPower) bool { return a.Pod == b.Pod })
	return l.took
}

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
