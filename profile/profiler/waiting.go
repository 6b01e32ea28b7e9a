package profiler

import (
	"container/list"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

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
	if waiting.all.Len() >= s.config.MaxWaiting {
		victim := waiting.fullest(node, s.config.MaxWaiting)
		if victim == nil || victim.node == node && at.Sub(victim.at) < s.config.Wait/10 {
			return Overflow
		}
		waiting.remove(victim)
		s.stats.Windows[Overflow]++
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
		if at.Sub(oldest.at) < s.config.Wait {
			return
		}
		s.waiting.remove(oldest)
		s.stats.Windows[Expired]++
	}
}
