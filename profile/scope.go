package profile

import (
	"cmp"
	"slices"
	"time"
)

// scope is the evidence of the pods seen in a slot of the day, or in all of it, of
// both resources: what ended pods have shown by node, and what live ones show.
type scope struct {
	profile *Profile
	slot    int // −1: the day
	// rest is of an older revision, of nodes not kept, or of before a restart: no
	// node's, so not limited as one.
	rest     [resources]kept
	nodes    []ofNode // by key
	outliers [resources]outliers
	seen     int // pods
	days     int
	newest   int64 // day
	// known is the evidence as it was stale changes ago.
	known [resources]kept
	stale [resources]int
}

// ofNode is what the ended pods of a node have shown.
type ofNode struct {
	key   uint64
	ended [resources]kept
}

// kept is Evidence in less room.
type kept struct {
	pods, mean, variance float64
	at                   int64 // ns since 1970
}

func keep(e Evidence) kept { return kept{e.Pods, e.Mean, e.Var, e.At.UnixNano()} }

func (k kept) evidence() Evidence {
	if k.pods == 0 {
		return Evidence{}
	}
	return Evidence{Pods: k.pods, Mean: k.mean, Var: k.variance, At: time.Unix(0, k.at)}
}

const (
	// nodeReach is how many times the median node's weight a node may have, as in
	// the fleet's costs: one node that lies is not the workload.
	nodeReach = 4
	// mostNodes are kept for themselves: enough for a median.
	mostNodes = 16
	// staleShare of the pods may have been read anew before the evidence that they
	// are held against is made anew.
	staleShare = 16
)

func newScope(p *Profile, slot int) *scope {
	return &scope{profile: p, slot: slot, stale: [resources]int{1, 1}}
}

// of is the live pod's reading in this scope, nil if it has none.
func (s *scope) of(l *livePod) *reading {
	switch s.slot {
	case -1:
		return &l.day
	case l.slot:
		return &l.inSlot
	}
	return nil
}

// observe takes a live pod's reading and reports whether it restarted the evidence. Of
// a pod that is growing memory is a lower bound of what the pod will take, which says
// nothing if it is less than others'.
func (s *scope) observe(l *livePod, weight float64, today int64, fresh, growing, ended bool) (restarted bool) {
	if today > s.newest {
		s.days, s.newest = s.days+1, today
	}
	if fresh {
		s.seen++
	}
	own := s.of(l)
	for r := range own.weight {
		own.weight[r] = 0
		if !own.knows(r) {
			continue
		}
		x := own.amount(r)
		if r == memoryOf && growing && s.under(r, x, ended) {
			s.outliers[r].drop(l)
			s.stale[r]++
			continue
		}
		if s.judge(r, l, own, x, weight, ended) {
			restarted = true
		}
	}
	return restarted
}

// under reports whether x is a lower bound that says nothing beside the other pods. Where
// there are none it is all there is if the pod has ended, and otherwise there is more
// to come.
func (s *scope) under(r int, x float64, ended bool) bool {
	others := s.others(r)
	return others.Pods == 0 && !ended || x <= others.Mean
}

// others is the evidence to hold a reading against. Of few pods it is exact; of
// many it may lag behind by a sixteenth of them, so that reading all of them takes
// time in proportion to their number.
func (s *scope) others(r int) Evidence {
	if s.stale[r]*staleShare > len(s.profile.live)+len(s.nodes) {
		s.known[r], s.stale[r] = keep(s.evidence(r)), 0
	}
	return s.known[r].evidence()
}

func (s *scope) add(r int, node uint64, at time.Time, x, weight float64) {
	to := s.node(node)
	e := to.ended[r].evidence()
	e.add(at, x, weight, s.profile.config.podHalfLife)
	to.ended[r] = keep(e)
}

// node is what is kept of a node, with room made for it.
func (s *scope) node(key uint64) *ofNode {
	byKey := func(n ofNode, key uint64) int { return cmp.Compare(n.key, key) }
	i, known := slices.BinarySearchFunc(s.nodes, key, byKey)
	if !known {
		if len(s.nodes) >= mostNodes {
			s.mergeOldest()
			i, _ = slices.BinarySearchFunc(s.nodes, key, byKey)
		}
		s.nodes = slices.Insert(s.nodes, i, ofNode{key: key})
	}
	return &s.nodes[i]
}

// mergeOldest adds the node whose last pod ended longest ago to the rest, with no more
// weight than a node may have.
func (s *scope) mergeOldest() {
	oldest := slices.MinFunc(s.nodes, func(a, b ofNode) int {
		return cmp.Or(cmp.Compare(max(a.ended[0].at, a.ended[1].at), max(b.ended[0].at, b.ended[1].at)), cmp.Compare(a.key, b.key))
	})
	for r := range oldest.ended {
		var few [mostNodes]Evidence
		most := nodeReach * median(s.byNode(few[:0], r, s.profile.live))
		e := oldest.ended[r].evidence()
		e.Pods = min(e.Pods, most)
		s.rest[r] = keep(s.rest[r].evidence().merge(e, s.profile.config.podHalfLife))
	}
	s.nodes = slices.DeleteFunc(s.nodes, func(n ofNode) bool { return n.key == oldest.key })
}

// end keeps what a pod has shown in the end. It is not live in this scope then.
func (s *scope) end(l *livePod) {
	own := s.of(l)
	if own == nil {
		return
	}
	for r, weight := range own.weight {
		if weight > 0 {
			s.add(r, l.node, l.at(), own.amount(r), weight)
		}
		s.outliers[r].end(l)
	}
	*own = reading{}
}

// restrict gives the evidence of an older revision the weight of at most a few pods, and
// forgets which nodes it is of. Live pods are forgotten.
func (s *scope) restrict(n float64) {
	for r := range s.rest {
		e := s.evidence(r)
		e.Pods = min(e.Pods, max(n, 0))
		s.rest[r] = keep(e)
		s.outliers[r], s.stale[r] = nil, 1
	}
	s.nodes = nil
}

// evidence is that of all pods of a resource, whatever the order they came in: no
// node counts for more than nodeReach times the median.
func (s *scope) evidence(r int) Evidence {
	if len(s.nodes)+len(s.profile.live) <= mostNodes {
		var few [mostNodes]Evidence
		return s.pooled(s.byNode(few[:0], r, s.profile.live), r)
	}
	s.profile.scratch = s.byNode(s.profile.scratch[:0], r, s.profile.live)
	return s.pooled(s.profile.scratch, r)
}

// pooled is the evidence of all nodes and the rest.
func (s *scope) pooled(all []Evidence, r int) Evidence {
	rest := s.rest[r].evidence()
	newest := rest.At
	for i := range all {
		if all[i].At.After(newest) {
			newest = all[i].At
		}
	}
	sum := Evidence{At: newest}
	if rest.Pods > 0 {
		rest.age(newest, newest.Sub(rest.At), s.profile.config.podHalfLife)
		sum.pool(rest.Pods, rest.Mean, rest.Var)
	}
	sum.poolLimited(all, newest, s.profile.config.podHalfLife)
	return sum
}

// poolLimited adds evidences as of a time, none with more weight than nodeReach
// times the median. They are modified.
func (e *Evidence) poolLimited(all []Evidence, at time.Time, halfLife time.Duration) {
	for i := range all {
		all[i].age(at, at.Sub(all[i].At), halfLife)
	}
	most := nodeReach * median(all)
	for i := range all {
		e.pool(min(all[i].Pods, most), all[i].Mean, all[i].Var)
	}
}

// byNode appends the evidence of each node, in the order of their keys: of pods that have
// ended and of live, which is sorted by node.
func (s *scope) byNode(all []Evidence, r int, live []livePod) []Evidence {
	halfLife := s.profile.config.podHalfLife
	nodes := s.nodes
	for len(nodes) > 0 || len(live) > 0 {
		var e Evidence
		var key uint64
		if len(live) == 0 || len(nodes) > 0 && nodes[0].key <= live[0].node {
			key, e, nodes = nodes[0].key, nodes[0].ended[r].evidence(), nodes[1:]
		} else {
			key = live[0].node
		}
		for ; len(live) > 0 && live[0].node == key; live = live[1:] {
			if own := s.of(&live[0]); own != nil && own.weight[r] > 0 {
				e.add(live[0].at(), own.amount(r), own.weight[r], halfLife)
			}
		}
		if e.Pods > 0 {
			all = append(all, e)
		}
	}
	return all
}

// median is the lower median of the evidences' weights, 0 without any. They must be
// of one time, or nearly.
func median(all []Evidence) float64 {
	if len(all) == 0 {
		return 0
	}
	var few [mostNodes]float64
	weights := few[:0]
	for i := range all {
		weights = append(weights, all[i].Pods)
	}
	slices.Sort(weights)
	return weights[(len(weights)-1)/2]
}

// outliers are the last pods in a row whose readings contradict the evidence of a resource,
// which does not include them. A pod that contradicts nothing has them accepted, as a tail of
// the distribution; at the third that contradicts it the evidence restarts from these three.
type outliers []outlier

// outlier is a pod whose reading contradicts the evidence.
type outlier struct {
	pod, node uint64
	amount    float64
	at        time.Time
	ended     bool
}

// maxOutliers is how many there may be; the next restarts the evidence.
const maxOutliers = 2

func (o outlier) isOf(l *livePod) bool { return o.pod == l.pod && o.node == l.node }

// drop removes an earlier reading of the pod.
func (o *outliers) drop(l *livePod) {
	*o = slices.DeleteFunc(*o, func(o outlier) bool { return o.isOf(l) })
}

// end notes that a pod has ended.
func (o outliers) end(l *livePod) {
	for i := range o {
		o[i].ended = o[i].ended || o[i].isOf(l)
	}
}

// judge compares a reading with the other pods' and accepts it, or keeps it as an outlier. It
// reports whether that restarted the evidence.
func (s *scope) judge(r int, l *livePod, own *reading, x, weight float64, ended bool) (restarted bool) {
	s.outliers[r].drop(l)
	others := s.others(r)
	switch {
	case !others.isOutlier(x, weight, floors[r]):
		own.weight[r] = weight
		s.acceptOutliers(r)
	case len(s.outliers[r]) < maxOutliers:
		s.outliers[r] = append(s.outliers[r], outlier{l.pod, l.node, x, l.at(), ended})
	default:
		s.restart(r, own)
		return true
	}
	s.stale[r]++
	return false
}

// restart begins the evidence anew, from the outliers and a reading.
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
	s.acceptOutliers(r)
	s.stale[r] = len(s.profile.live) + 1
}

// acceptOutliers adds the outliers to the evidence.
func (s *scope) acceptOutliers(r int) {
	for _, o := range s.outliers[r] {
		if o.ended {
			s.add(r, o.node, o.at, o.amount, 1)
		} else if l := s.profile.live.pod(o.node, o.pod); l != nil {
			if own := s.of(l); own != nil {
				own.weight[r] = 1
			}
		}
	}
	s.outliers[r] = nil
}
