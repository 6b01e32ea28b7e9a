package modelserver

import (
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// mailbox keeps the newest push of each node until the next merge. Two batches
// take turns, so that in the long run nothing is allocated.
type mailbox struct {
	limit   int
	crowded chan struct{} // has a token once the mailbox is half full

	mu          sync.Mutex
	open, spare *batch
}

type batch struct {
	index   map[string]int // node to letter
	letters []letter
}

type letter struct {
	at    time.Time
	local aggregate.Local
}

// outcome of a put.
type outcome int

const (
	added    outcome = iota
	replaced         // an older or a newer push of the node was there: one went
	full
)

func newMailbox(limit int) *mailbox {
	return &mailbox{limit: limit, crowded: make(chan struct{}, 1), open: newBatch(), spare: newBatch()}
}

func newBatch() *batch { return &batch{index: map[string]int{}} }

// put stores a checked model without copying its slices.
func (b *mailbox) put(at time.Time, m *spaziov1.LocalModel) outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, ok := b.open.index[m.GetNode()]; ok {
		if l := &b.open.letters[i]; newer(m, l.local) {
			l.fill(at, m)
		}
		return replaced
	}
	n := len(b.open.letters)
	if n >= b.limit {
		return full
	}
	if n < cap(b.open.letters) {
		b.open.letters = b.open.letters[:n+1] // with the costs' memory of a past letter
	} else {
		b.open.letters = append(b.open.letters, letter{})
	}
	b.open.letters[n].fill(at, m)
	b.open.index[m.GetNode()] = n
	if 2*(n+1) >= b.limit {
		select {
		case b.crowded <- struct{}{}:
		default:
		}
	}
	return added
}

func newer(m *spaziov1.LocalModel, than aggregate.Local) bool {
	if m.GetIncarnation() != than.Incarnation {
		return m.GetIncarnation() > than.Incarnation
	}
	return m.GetSequence() > than.Sequence
}

// take closes the open batch and opens the spare one. The caller gives the
// batch back before it takes the next.
func (b *mailbox) take() *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.open
	b.open, b.spare = b.spare, nil
	return taken
}

func (b *mailbox) giveBack(taken *batch) {
	for i := range taken.letters {
		taken.letters[i].clear()
	}
	taken.letters = taken.letters[:0]
	clear(taken.index)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = taken
}

func (l *letter) fill(at time.Time, m *spaziov1.LocalModel) {
	model := m.GetModel()
	l.at = at
	l.local = aggregate.Local{
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
		},
		Costs: l.local.Costs[:0],
	}
	for _, c := range m.GetCosts() {
		cost := aggregate.Cost{}
		if c.GetKnown() {
			cost = aggregate.Cost{Value: c.GetValue(), SD: c.GetSd(), Known: true}
		}
		l.local.Costs = append(l.local.Costs, cost)
	}
}

// clear lets go of the request but keeps the costs' memory.
func (l *letter) clear() { l.local = aggregate.Local{Costs: l.local.Costs[:0]} }
