package modelserver

import (
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// pushQueue keeps the newest push of each node until the next merge.
type pushQueue struct {
	most, mostOfOne load          // of all and of one caller
	crowded         chan struct{} // has a token once half of either is reached

	mu   sync.Mutex
	open *batch
}

// load is the size of the queued pushes.
type load struct{ pushes, bytes int }

func (l load) plus(pushes, bytes int) load { return load{l.pushes + pushes, l.bytes + bytes} }

func (l load) within(most load) bool { return l.pushes <= most.pushes && l.bytes <= most.bytes }

// isHalf reports whether one of the bounds is half reached.
func (l load) isHalf(most load) bool { return 2*l.pushes >= most.pushes || 2*l.bytes >= most.bytes }

type batch struct {
	index  map[string]int // node to its push
	pushes []queuedPush
	total  load
	of     map[string]load // by caller
}

type queuedPush struct {
	at    time.Time
	size  int
	local aggregate.Local
}

// outcome of a put.
type outcome int

const (
	added    outcome = iota
	replaced         // an older or a newer push of the node was queued: one was dropped
	full
)

// newPushQueue limits the pushes and their bytes, and each caller to a share of both.
func newPushQueue(pushes, bytes int, share float64) *pushQueue {
	of := func(n int) int { return max(1, int(share*float64(n))) }
	return &pushQueue{
		most: load{pushes, bytes}, mostOfOne: load{of(pushes), of(bytes)},
		crowded: make(chan struct{}, 1), open: newBatch(),
	}
}

func newBatch() *batch { return &batch{index: map[string]int{}, of: map[string]load{}} }

// put stores a checked model of a caller ("" for none that is known, which has
// no share) without copying its slices.
func (b *pushQueue) put(at time.Time, caller string, m *spaziov1.LocalModel) outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := sizeOf(m)
	i, known := b.open.index[m.GetNode()]
	if known && !newer(m, b.open.pushes[i].local) {
		return replaced
	}
	total, of := b.open.total.plus(1, size), b.open.of[caller].plus(1, size)
	if known {
		l := &b.open.pushes[i]
		total = total.plus(-1, -l.size)
		if l.local.Caller == caller {
			of = of.plus(-1, -l.size)
		}
	}
	if !total.within(b.most) || caller != "" && !of.within(b.mostOfOne) {
		return full
	}
	if known {
		l := &b.open.pushes[i]
		b.open.of[l.local.Caller] = b.open.of[l.local.Caller].plus(-1, -l.size)
	}
	b.open.total, b.open.of[caller] = total, of
	if total.isHalf(b.most) || caller != "" && of.isHalf(b.mostOfOne) {
		select {
		case b.crowded <- struct{}{}:
		default:
		}
	}
	if !known {
		i = len(b.open.pushes)
		b.open.pushes, b.open.index[m.GetNode()] = append(b.open.pushes, queuedPush{}), i
	}
	b.open.pushes[i].fill(at, caller, size, m)
	if known {
		return replaced
	}
	return added
}

// sizeOf is about what a push takes in memory.
func sizeOf(m *spaziov1.LocalModel) int {
	model := m.GetModel()
	return 512 + len(m.GetNode()) + len(m.GetSchema()) + 8*(len(model.GetU())+len(model.GetSigma())+len(model.GetMean())) + 96*len(m.GetCosts())
}

func newer(m *spaziov1.LocalModel, than aggregate.Local) bool {
	if m.GetIncarnation() != than.Incarnation {
		return m.GetIncarnation() > than.Incarnation
	}
	return m.GetSequence() > than.Sequence
}

// swap returns what has come in and begins anew.
func (b *pushQueue) swap() *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.open
	b.open = newBatch()
	return taken
}

func (l *queuedPush) fill(at time.Time, caller string, size int, m *spaziov1.LocalModel) {
	model := m.GetModel()
	l.at, l.size = at, size
	l.local = aggregate.Local{
		Caller:      caller,
		Node:        m.GetNode(),
		Incarnation: m.GetIncarnation(),
		Sequence:    m.GetSequence(),
		Schema:      m.GetSchema(),
		Model: svd.State{
			Dim:   int(model.GetDim()),
			Block: int(model.GetBlock()),
			Mass:  model.GetMass(),
			U:     model.GetU(),
			Sigma: model.GetSigma(),
			Mean:  model.GetMean(),
		},
		Costs: appendCosts(l.local.Costs[:0], m.GetCosts()),
	}
}
