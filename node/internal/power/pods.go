package power

import (
	"cmp"
	"errors"
	"math"
	"slices"
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
func (m *Meter) divide(at time.Time) (took []agent.PodPower, ok bool) {
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
func (m *Meter) attribute(span time.Duration) (residual float64, err error) {
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
func (m *Meter) treeUsed(span time.Duration) float64 {
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
