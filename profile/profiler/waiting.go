package profiler

import (
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

// waitingWindows wait for the API to show their pod, or its containers.
type waitingWindows struct {
	of    map[reserve.PodKey][]waitingWindow
	order []arrival
	count int
}

type waitingWindow struct {
	at     time.Time
	node   string
	window agent.Window
}

// arrival is when a window of a pod came.
type arrival struct {
	at  time.Time
	pod reserve.PodKey
}

// wait keeps a window for later.
func (s *Store) wait(at time.Time, node string, w *agent.Window) Result {
	if s.waiting.count >= s.config.MaxWaiting {
		return Overflow
	}
	s.waiting.of[w.Pod] = append(s.waiting.of[w.Pod], waitingWindow{at, node, *w})
	s.waiting.order = append(s.waiting.order, arrival{at, w.Pod})
	s.waiting.count++
	return Waiting
}

// release takes in what has waited for a pod.
func (s *Store) release(at time.Time, key reserve.PodKey) {
	all := s.waiting.of[key]
	if len(all) == 0 {
		return
	}
	left := all[:0]
	for i := range all {
		switch result := s.observe(all[i].at, all[i].node, &all[i].window); result {
		case Waiting:
			left = append(left, all[i])
		default:
			s.stats.Windows[result]++
			s.waiting.count--
		}
	}
	clear(all[len(left):])
	if len(left) == 0 {
		delete(s.waiting.of, key)
		return
	}
	s.waiting.of[key] = left
}

// expire drops windows that have waited for too long.
func (s *Store) expire(at time.Time) {
	for len(s.waiting.order) > 0 {
		oldest := s.waiting.order[0]
		if at.Sub(oldest.at) < s.config.Wait {
			return
		}
		s.waiting.order = s.waiting.order[1:]
		all := s.waiting.of[oldest.pod]
		if len(all) == 0 || all[0].at.After(oldest.at) {
			continue // it has been released
		}
		s.stats.Windows[Expired]++
		s.waiting.count--
		if len(all) == 1 {
			delete(s.waiting.of, oldest.pod)
			continue
		}
		s.waiting.of[oldest.pod] = all[1:]
	}
}
