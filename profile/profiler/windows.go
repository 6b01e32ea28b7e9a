package profiler

import (
	"container/list"
	"time"
	"unique"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Results count windows by what became of them.
type Results [resultCount]int

// sender is what is known about a node's batches.
type sender struct {
	incarnation, sequence uint64
	at                    time.Time
}

const (
	// mostSenders is four times the nodes of the largest clusters.
	mostSenders = 20_000
	// silence is after what time an agent may come again with a clock that was set
	// back, and be forgotten where there are too many.
	silence = 10 * time.Minute
)

// Windows adds a batch of a node's agent, which arrived at a time. The caller has checked
// that it is that node's. Windows of a batch that came before, or is older, count as
// duplicates.
func (s *Store) Windows(at time.Time, b agent.UsageBatch) Results {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(at)
	var results Results
	if why := s.acceptSender(at, &b); why != Accepted {
		results[why] = len(b.Windows)
		s.stats.Windows[why] += uint64(len(b.Windows))
		return results
	}
	for i := range b.Windows {
		w := &b.Windows[i]
		result := s.observe(at, b.Node, w)
		if result == Waiting {
			result = s.wait(at, b.Node, w)
		}
		results[result]++
		s.stats.Windows[result]++
	}
	return results
}

// nodesSince counts the nodes of which a batch has come since a time.
func (s *Store) nodesSince(since time.Time) (nodes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sender := range s.senders {
		if !sender.at.Before(since) {
			nodes++
		}
	}
	return nodes
}

// acceptSender reports whether a batch is news of its sender.
func (s *Store) acceptSender(at time.Time, b *agent.UsageBatch) Result {
	known := s.senders[b.Node]
	if known == nil {
		if len(s.senders) >= mostSenders {
			for node, sender := range s.senders {
				if at.Sub(sender.at) >= silence {
					delete(s.senders, node)
				}
			}
		}
		if len(s.senders) >= mostSenders {
			return crowded
		}
		s.senders[b.Node] = &sender{b.Incarnation, b.Sequence, at}
		return Accepted
	}
	again := b.Incarnation == known.incarnation && b.Sequence <= known.sequence
	older := b.Incarnation < known.incarnation && at.Before(known.at.Add(silence))
	if again || older {
		return duplicate
	}
	*known = sender{b.Incarnation, b.Sequence, at}
	return Accepted
}

// observe adds a window to its workload's profile; Waiting if it cannot yet.
func (s *Store) observe(at time.Time, node string, w *agent.Window) Result {
	p, key := s.known(node, w.Pod)
	switch {
	case p == nil || p.node.Value() == "":
		return Waiting
	case p.node != unique.Make(node):
		return foreign
	case p.of == nil:
		return unnamed
	}
	container, ok := p.container(w.Container)
	if !ok {
		return Waiting
	}
	if p.of.dropped {
		of, err := s.workload(at, p.of.of, p.of.template)
		if err != nil {
			return refused
		}
		p.of, p.measured = of, false
	}
	of, usage, restarts := p.of, w.Usage, p.of.profile.Restarts()
	usage.Amend() // counts that contradict each other are left out, and the rest counts
	if err := of.profile.Observe(at, window(usage, key, p, node, container)); err != nil {
		return refused
	}
	s.recordThrottling(of, w.Container, &usage)
	if !p.measured {
		p.measured = true
		of.pods++
	}
	s.stats.Restarts += uint64(of.profile.Restarts() - restarts)
	if at.After(of.measured) {
		of.measured = at
	}
	s.markSeen(at, of)
	s.mark(at, of)
	s.unsaved(at, of)
	return Accepted
}

// window is what a profile takes in.
func window(usage profile.Usage, key reserve.PodKey, p *pod, node, container string) profile.Window {
	var created time.Time
	if p.created != 0 {
		created = time.Unix(p.created, 0)
	}
	return profile.Window{
		Pod: nameOf(key), Container: container, Node: node, Revision: p.revision.Value(),
		Created: created, Always: p.always, Usage: usage,
	}
}

// sweep drops what has waited, or was not seen, for too long.
func (s *Store) sweep(at time.Time) {
	s.expire(at)
	s.dropDeleted(at)
	s.forget(at)
}

// waitingWindows wait for the API to show their pod, or its containers.
type waitingWindows struct {
	of    map[reserve.PodKey][]*waitingWindow
	nodes map[string]*list.List // of *waitingWindow, the oldest in front
	all   *list.List            // of *waitingWindow, the oldest in front
}

type waitingWindow struct {
	at     time.Time
	node   string
	window agent.Window

	inAll, inNode *list.Element
}

func newWaitingWindows() waitingWindows {
	return waitingWindows{of: map[reserve.PodKey][]*waitingWindow{}, nodes: map[string]*list.List{}, all: list.New()}
}

// wait keeps a window for later. Where there are too many, one goes of a node that has more
// than its share of them: no node's windows push out another's. A node that has its share
// loses its oldest, if that has waited for longer than the API takes to show a pod.
func (s *Store) wait(at time.Time, node string, w *agent.Window) Result {
	waiting := &s.waiting
	own := waiting.nodes[node]
	if waiting.all.Len() >= s.config.maxWaiting {
		victim := waiting.fullest(node, s.config.maxWaiting)
		if victim == nil || victim.node == node && at.Sub(victim.at) < maxWait/10 {
			return overflow
		}
		waiting.remove(victim)
		s.stats.Windows[overflow]++
		own = waiting.nodes[node]
	}
	if own == nil {
		own = list.New()
		waiting.nodes[node] = own
	}
	one := &waitingWindow{at: at, node: node, window: *w}
	one.inAll, one.inNode = waiting.all.PushBack(one), own.PushBack(one)
	waiting.of[w.Pod] = append(waiting.of[w.Pod], one)
	return Waiting
}

// fullest is the oldest window of the node if that has its share of the most there may be,
// else the oldest of those that have.
func (w *waitingWindows) fullest(node string, most int) *waitingWindow {
	nodes := len(w.nodes)
	if w.nodes[node] == nil {
		nodes++
	}
	share := max(most/nodes, 1)
	if own := w.nodes[node]; own != nil && own.Len() >= share {
		return own.Front().Value.(*waitingWindow)
	}
	for e := w.all.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*waitingWindow); w.nodes[one.node].Len() >= share {
			return one
		}
	}
	return nil
}

func (w *waitingWindows) remove(one *waitingWindow) {
	w.all.Remove(one.inAll)
	of := w.nodes[one.node]
	if of.Remove(one.inNode); of.Len() == 0 {
		delete(w.nodes, one.node)
	}
	left := w.of[one.window.Pod][:0]
	for _, other := range w.of[one.window.Pod] {
		if other != one {
			left = append(left, other)
		}
	}
	if w.of[one.window.Pod] = left; len(left) == 0 {
		delete(w.of, one.window.Pod)
	}
}

// release takes in what has waited for a pod that its node knows by that key.
func (s *Store) release(key reserve.PodKey) {
	for _, one := range append([]*waitingWindow(nil), s.waiting.of[key]...) {
		if result := s.observe(one.at, one.node, &one.window); result != Waiting {
			s.stats.Windows[result]++
			s.waiting.remove(one)
		}
	}
}

// expire drops windows that have waited for too long.
func (s *Store) expire(at time.Time) {
	for e := s.waiting.all.Front(); e != nil; e = s.waiting.all.Front() {
		oldest := e.Value.(*waitingWindow)
		if at.Sub(oldest.at) < maxWait {
			return
		}
		s.waiting.remove(oldest)
		s.stats.Windows[expired]++
	}
}
