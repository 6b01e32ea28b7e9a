package sim

import "github.com/spazio-scheduler/spazio/reserve"

// waits are of the pods that were refused for want of measured room.
type waits struct {
	since  []float64      // by pod, none if it does not wait
	late   map[int32]bool // those that are overdue
	places int            // for overdue pods, of all nodes
}

// none stands for a time that never was.
const none = -1

func newWaits(pods int) waits {
	w := waits{since: make([]float64, pods), late: map[int32]bool{}}
	for i := range w.since {
		w.since[i] = none
	}
	return w
}

// wait notes that a pod was refused, for the first time perhaps.
func (s *spazio) wait(pod int32) {
	if s.waits.since[pod] != none || s.options.Trickle.Off {
		return
	}
	s.waits.since[pod] = s.c.now
	s.c.agenda.add(event{at: s.c.now + s.options.Trickle.WithDefaults().MaxWait.Seconds(), kind: overdue, pod: pod})
}

// ripen notes that a pod may be overdue by now.
func (s *spazio) ripen(pod int32) {
	if s.overdue(pod) {
		s.waits.late[pod] = true
	}
	s.rouse()
}

// admitted ends the wait of a pod.
func (s *spazio) admitted(pod int32) {
	s.waits.since[pod] = none
	delete(s.waits.late, pod)
}

func (s *spazio) overdue(pod int32) bool {
	since := s.waits.since[pod]
	return since != none && s.options.Trickle.Overdue(elapsed(s.c.now-since))
}

// offer brings a node's places for overdue pods up to date.
func (s *spazio) offer(a *spazioAgent) {
	places := 0
	if a.validity.Fresh(s.now()) {
		places = s.placesFor(a, typicalPods)
	}
	rise := places - a.places
	a.places = places
	s.waits.places += rise
	if rise > 0 {
		s.rouse()
	}
}

// rouse has as many overdue pods tried as there are places.
func (s *spazio) rouse() {
	if len(s.waits.late) > 0 {
		s.c.queue.rouse(s.waits.places, s.overdue)
	}
}

// places are those of a node for an overdue pod.
func (s *spazio) places(a *spazioAgent, pod int32) int {
	if k := s.classOf(pod); k != typicalPods && a.validity.Fresh(s.now()) {
		return s.placesFor(a, k)
	}
	return a.places
}

func (s *spazio) placesFor(a *spazioAgent, k int) int {
	return s.options.Trickle.Places(a.signal, a.account.Flight(), s.asks(a, k), a.account.Trickled(), a.cores, s.rules)
}

// rank is the room that a node is ranked by for a pod, in typical pods.
func (s *spazio) rank(a *spazioAgent, pod int32) float64 {
	return reserve.RankFor(a.signal, a.account.Flight(), s.asks(a, s.classOf(pod)))
}
