package profile

import (
	"slices"
	"time"
)

// doubts are the last pods in a row whose readings contradict the evidence of a resource, which
// does not hold them: the one place where it is kept that a workload may have changed. A
// pod that contradicts nothing has them accepted, as a tail of what is known; of the third
// that contradicts it the evidence begins anew, from these three.
type doubts []doubt

// doubt is a pod whose reading contradicts the evidence.
type doubt struct {
	pod, node uint64
	amount    float64
	at        time.Time
	ended     bool
}

// maxDoubts is how many there may be; the next is a restart.
const maxDoubts = 2

func (d doubt) isOf(l *livePod) bool { return d.pod == l.pod && d.node == l.node }

// withdraw drops what an earlier reading of the pod was.
func (d *doubts) withdraw(l *livePod) {
	*d = slices.DeleteFunc(*d, func(d doubt) bool { return d.isOf(l) })
}

// end notes that a pod has ended.
func (d doubts) end(l *livePod) {
	for i := range d {
		d[i].ended = d[i].ended || d[i].isOf(l)
	}
}

// judge holds a reading against the other pods'. It reports whether that made the evidence
// begin anew.
func (s *scope) judge(r int, l *livePod, own *reading, x, weight float64, ended bool) (restarted bool) {
	s.doubts[r].withdraw(l)
	others := s.others(r)
	switch {
	case !others.isContradicted(x, weight, floors[r]):
		own.weight[r] = weight
		s.acceptDoubts(r)
	case len(s.doubts[r]) < maxDoubts:
		s.doubts[r] = append(s.doubts[r], doubt{l.pod, l.node, x, l.at(), ended})
	default:
		s.restart(r, own)
		return true
	}
	s.stale[r]++
	return false
}

// restart begins the evidence anew, from the doubts and a reading.
func (s *scope) restart(r int, own *reading) {
	s.rest[r] = kept{}
	for i := range s.nodes {
		s.nodes[i].ended[r] = kept{}
	}
	for i := range s.profile.live {
		if other := s.of(&s.profile.live[i]); other != nil {
			other.weight[r] = 0
		}
	}
	own.weight[r] = 1
	s.acceptDoubts(r)
	s.stale[r] = len(s.profile.live) + 1
}

// acceptDoubts takes the doubts into the evidence.
func (s *scope) acceptDoubts(r int) {
	for _, d := range s.doubts[r] {
		if d.ended {
			s.add(r, d.node, d.at, d.amount, 1)
		} else if l := s.profile.live.pod(d.node, d.pod); l != nil {
			if own := s.of(l); own != nil {
				own.weight[r] = 1
			}
		}
	}
	s.doubts[r] = nil
}
