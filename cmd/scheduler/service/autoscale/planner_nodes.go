package autoscale

import (
	"cmp"
	"slices"
	"time"
)

const (
	// writesPerSecond bounds the writes to nodes on average, and maxBurst how many of them may come
	// at once.
	writesPerSecond = 10
	maxBurst        = 50
	// maxSilence is how long a node stays protected that is not measured.
	maxSilence = 30 * time.Minute
)

// plannedNode is a node as it measures itself and as the API has it.
type plannedNode struct {
	Name string
	// HasReported reports whether its agent ever has: until then nothing is known of it. Refuses
	// reports whether it takes no typical pod.
	HasReported, Refuses bool
	// IsReady reports whether the API has it as ready, IsMeasured whether Use is current.
	IsReady, IsMeasured bool
	// IsDeferred is set if it cannot be written now: what is decided waits.
	IsDeferred bool
	// Use is what was measured and Requested what its pods request, as shares.
	Use, Requested amount
	// IsFull and IsProtected report whether it has the label of that name.
	IsFull, IsProtected bool
	// Set lists the annotations of protection that it has, Unset those that it does not. One that
	// somebody gave another value is in neither: it is theirs.
	Set, Unset []string
}

// nodeChange is what a node's labels and annotations of ours should be.
type nodeChange struct {
	Node            string
	Full, Protected bool
	// Annotations are those to have, sorted; none unless Protected.
	Annotations []string
}

// nodeState holds since when a node is as it is; a zero time means that it is not.
type nodeState struct {
	refusing, open, idle, unready, silent time.Time
}

// urgency orders writes: what prevents that a busy node is drained, then what lets the autoscaler
// see that pods do not fit, then what takes either back.
type urgency int

const (
	protects urgency = iota
	labels
	releases
)

// changes returns the nodes to write, as many as the rate allows.
func (p *planner) changes(in plannerInput) []nodeChange {
	type change struct {
		nodeChange
		urgency urgency
	}
	var all []change
	known := make(map[string]*nodeState, len(in.Nodes))
	for i := range in.Nodes {
		n := &in.Nodes[i]
		s := p.nodes[n.Name]
		if s == nil {
			s = &nodeState{}
		}
		known[n.Name] = s
		c := nodeChange{Node: n.Name, Full: p.isFull(s, n, len(in.Waiting) > 0, in.Now), Protected: p.isProtected(s, n, in.Now)}
		if c.Protected {
			c.Annotations = slices.Sorted(slices.Values(slices.Concat(n.Set, n.Unset)))
		}
		switch {
		case n.IsDeferred:
		case c.Protected && (!n.IsProtected || len(n.Unset) > 0):
			all = append(all, change{c, protects})
		case c.Full && !n.IsFull:
			all = append(all, change{c, labels})
		case c.Full != n.IsFull || c.Protected != n.IsProtected:
			all = append(all, change{c, releases})
		}
	}
	p.nodes = known // those that are gone are forgotten
	slices.SortFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.urgency, b.urgency), cmp.Compare(a.Node, b.Node)) })
	var changes []nodeChange
	for _, c := range all[:p.allow(in.Now, len(all))] {
		changes = append(changes, c.nodeChange)
	}
	return changes
}

// allow returns how many of n writes the rate allows, and counts them.
func (p *planner) allow(now time.Time, n int) int {
	if p.decided.IsZero() {
		p.writes = writesPerSecond
	} else {
		p.writes = min(p.writes+writesPerSecond*max(now.Sub(p.decided).Seconds(), 0), maxBurst)
	}
	n = min(n, int(p.writes))
	p.writes -= float64(n)
	return n
}

// isFull decides about the label of full nodes. A node of which nothing is known keeps what it
// has while pods wait: a new node whose agent is slow to start is not full.
func (p *planner) isFull(s *nodeState, n *plannedNode, podsWait bool, now time.Time) bool {
	switch {
	case podsWait && !n.HasReported:
		s.refusing, s.open = time.Time{}, time.Time{}
		return n.IsFull
	case podsWait && n.Refuses:
		s.open = time.Time{}
		since(&s.refusing, now)
		return n.IsFull || now.Sub(s.refusing) >= p.config.ScaleUpDelay
	}
	s.refusing = time.Time{}
	since(&s.open, now)
	return n.IsFull && now.Sub(s.open) < p.config.ScaleDownDelay/2
}

// isProtected decides about a node's protection. One that is not measured keeps what it has for a
// while, and one that is not ready too: if it has died, the autoscaler must be able to replace it.
func (p *planner) isProtected(s *nodeState, n *plannedNode, now time.Time) bool {
	canProtect := len(n.Set)+len(n.Unset) > 0 // else somebody refused each annotation
	isIdle := canProtect && n.IsMeasured && !p.isBusy(n)
	idle, silent, unready := during(&s.idle, isIdle, now), during(&s.silent, !n.IsMeasured, now), during(&s.unready, !n.IsReady, now)
	switch {
	case !canProtect:
		return false
	case unready >= p.config.ScaleDownDelay, silent >= maxSilence:
		return false
	case n.IsReady && n.IsMeasured && !isIdle:
		return true
	}
	return n.IsProtected && (!isIdle || idle < p.config.ScaleDownDelay/2)
}

// isBusy reports whether a node uses much of a resource of which little is requested, so that an
// autoscaler takes it for unused.
func (p *planner) isBusy(n *plannedNode) bool {
	above := p.config.ProtectAbove
	return n.Use.CPU > above && n.Requested.CPU < above || n.Use.Memory > above && n.Requested.Memory < above
}

// during returns for how long something has been the case, and keeps since when in t.
func during(t *time.Time, is bool, now time.Time) time.Duration {
	if !is {
		*t = time.Time{}
		return 0
	}
	since(t, now)
	return now.Sub(*t)
}

// since sets a time that is not set.
func since(t *time.Time, now time.Time) {
	if t.IsZero() {
		*t = now
	}
}
