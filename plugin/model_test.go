package plugin_test

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// model is the expected state of the scheduler plugin, in lists: pods in flight, admitting nodes and
// waiting pods. It follows the design and shares no code with the plugin.
type model struct {
	now     time.Duration
	maxAge  time.Duration
	maxWait time.Duration // 0 means no limit
	// watched is when the clock was last read; awaited is until when silent nodes are waited for after
	// the process stood still.
	nodes   []*modelNode
	claims  []*claim
	waiting []*modelPod
	// arrivals are the times of the first attempts of unbound pods.
	arrivals []types.UID
	// lists are the pods in each node's newest report, kept for deleted nodes as long as pods are
	// claimed for them.
	lists []list
}

// modelNode is a node that the handler knows.
type modelNode struct {
	name   string
	object *v1.Node
	// report is the newest, nil before the first.
	report *modelReport
	// confirmed counts the pods in its report that are claimed for it.
	confirmed int
}

type modelReport struct {
	avail     float64
	saturated bool
	// memory is how many more pods fit the memory.
	memory  float64
	sampled time.Duration
}

type list struct {
	node string
	pods []types.UID
}

// claim is a pod that is assumed or bound to a node.
type claim struct {
	uid  types.UID
	node string
	// bound, otherwise assumed since then.
	bound bool
	since time.Duration
	// listed by a report: never in flight again.
	listed bool
	// flying is the start of the time in flight; late means that it has lasted too long to block later
	// pods.
	flying time.Duration
	late   bool
	// overdue pods were admitted without room.
	overdue bool
}

// modelPod is a pod that was tried and waits.
type modelPod struct {
	uid types.UID
	// earliest and latest bound the time since nodes refuse the pod for room alone, 0 if none did: an
	// attempt in which no node refused for room ends the wait, but the plugin cannot always tell.
	earliest, latest time.Duration
}

const (
	// patience and assumedTTL are the ledger's.
	patience   = 2 * time.Minute
	assumedTTL = 15 * time.Minute
)

func (m *model) node(name string) *modelNode {
	for _, n := range m.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (m *model) listOf(node string) []types.UID {
	for _, l := range m.lists {
		if l.node == node {
			return l.pods
		}
	}
	return nil
}

func (m *model) setList(node string, pods []types.UID) {
	m.lists = slices.DeleteFunc(m.lists, func(l list) bool { return l.node == node })
	if len(pods) > 0 {
		m.lists = append(m.lists, list{node, pods})
	}
}

// nodeSeen processes an added or changed node.
func (m *model) nodeSeen(object *v1.Node) {
	n := m.node(object.Name)
	if n == nil {
		n = &modelNode{name: object.Name}
		m.nodes = append(m.nodes, n)
	}
	n.object = object
}

func (m *model) nodeGone(name string) {
	m.nodes = slices.DeleteFunc(m.nodes, func(n *modelNode) bool { return n.name == name })
	m.forgetIdle()
}

// forgetIdle drops the lists of deleted nodes without claimed pods.
func (m *model) forgetIdle() {
	m.lists = slices.DeleteFunc(m.lists, func(l list) bool {
		return m.node(l.node) == nil && !slices.ContainsFunc(m.claims, func(c *claim) bool { return c.node == l.node })
	})
}

func (m *model) claim(uid types.UID) *claim {
	for _, c := range m.claims {
		if c.uid == uid {
			return c
		}
	}
	return nil
}

func (m *model) drop(uid types.UID) {
	m.claims = slices.DeleteFunc(m.claims, func(c *claim) bool { return c.uid == uid })
	m.forgetIdle()
}

// enter claims a pod for a node.
func (m *model) enter(uid types.UID, node string, bound bool) *claim {
	m.drop(uid)
	c := &claim{uid: uid, node: node, bound: bound, since: m.now, flying: m.now, listed: slices.Contains(m.listOf(node), uid)}
	m.claims = append(m.claims, c)
	return c
}

// podSeen processes an added or changed pod.
func (m *model) podSeen(pod *v1.Pod) {
	switch c := m.claim(pod.UID); {
	case pod.Annotations[v1.MirrorPodAnnotationKey] != "":
	case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		m.podGone(pod)
	case pod.Spec.NodeName == "":
	case c != nil && c.node == pod.Spec.NodeName:
		c.bound = true
		m.leave(pod.UID)
	default:
		m.enter(pod.UID, pod.Spec.NodeName, true)
		m.leave(pod.UID)
	}
}

func (m *model) podGone(pod *v1.Pod) {
	m.drop(pod.UID)
	m.leave(pod.UID)
}

// leave forgets a bound or deleted pod.
func (m *model) leave(uid types.UID) {
	m.wait(uid, false)
	m.arrivals = slices.DeleteFunc(m.arrivals, func(other types.UID) bool { return other == uid })
}

// wait records whether a pod waits.
func (m *model) wait(uid types.UID, waits bool) {
	switch at := slices.IndexFunc(m.waiting, func(p *modelPod) bool { return p.uid == uid }); {
	case waits && at < 0:
		if !slices.Contains(m.arrivals, uid) {
			m.arrivals = append(m.arrivals, uid)
		}
		m.waiting = append(m.waiting, &modelPod{uid: uid})
		slices.SortFunc(m.waiting, func(a, b *modelPod) int { return slices.Index(m.arrivals, a.uid) - slices.Index(m.arrivals, b.uid) })
	case !waits && at >= 0:
		m.waiting = slices.Delete(m.waiting, at, at+1)
	}
}

func (m *model) waits(uid types.UID) *modelPod {
	for _, p := range m.waiting {
		if p.uid == uid {
			return p
		}
	}
	return nil
}

// report processes a node's report.
func (m *model) report(node string, r modelReport, pods []types.UID) {
	n := m.node(node)
	if n == nil {
		return
	}
	n.report = &r
	m.setList(node, pods)
	for _, c := range m.claims {
		if c.node == node && slices.Contains(pods, c.uid) {
			c.listed = true
		}
	}
	n.confirmed = m.confirmed(node)
}

// expire ends states that last too long.
func (m *model) expire() {
	m.claims = slices.DeleteFunc(m.claims, func(c *claim) bool { return !c.bound && m.now-c.since >= assumedTTL })
	for _, c := range m.claims {
		c.late = c.late || !c.listed && m.now-c.flying >= patience
	}
	m.forgetIdle()
}

// flight counts the pods in flight to a node, and those of them that block others.
func (m *model) flight(node string) (all, starting int) {
	for _, c := range m.claims {
		if c.node == node && !c.listed {
			all++
			if !c.late {
				starting++
			}
		}
	}
	return all, starting
}

// confirmed counts the pods that have a claim and are in the node's newest report.
func (m *model) confirmed(node string) int {
	listed := 0
	for _, c := range m.claims {
		if c.node == node && c.listed {
			listed++
		}
	}
	return min(listed, len(m.listOf(node)))
}

func (m *model) fresh(n *modelNode) bool {
	return n.report != nil && m.now-n.report.sampled <= m.maxAge
}

func cores(n *v1.Node) float64 { return float64(n.Status.Capacity.Cpu().Value()) }

// room reports whether a node with a fresh report admits one more pod beside those in flight.
func (m *model) room(n *modelNode, beside int) bool {
	all, starting := m.flight(n.name)
	free := n.report.avail - float64(all+beside)
	return !n.report.saturated && free >= 1 && m.inLine(n, starting+beside)
}

// inLine reports whether slow start admits one more pod.
func (m *model) inLine(n *modelNode, starting int) bool {
	line := 2*max(1, cores(n.object)/2) + float64(m.confirmed(n.name))/2
	return float64(starting) < line
}

// slots counts the pods that a node with a fresh report admits.
func (m *model) slots(n *modelNode) int {
	slots := 0
	for m.room(n, slots) {
		slots++
	}
	return slots
}

// takesOverdue reports whether a node with a fresh report and no room admits an overdue pod: one at a
// time per 16 cores, and never if memory is full.
func (m *model) takesOverdue(n *modelNode) bool {
	all, starting := m.flight(n.name)
	full := n.report.saturated || n.report.avail-float64(all) < 1
	running := 0
	for _, c := range m.claims {
		if c.node == n.name && c.overdue {
			running++
		}
	}
	return full && n.report.memory-float64(all) >= 1 && m.inLine(n, starting) && float64(running) < max(1, cores(n.object)/16)
}

// tried records an attempt without a node, in which some nodes may have refused for room.
func (m *model) tried(uid types.UID, refused bool) {
	p := m.waits(uid)
	if p == nil {
		return
	}
	if p.earliest == 0 {
		p.earliest = m.now
	}
	if p.latest == 0 && refused {
		p.latest = m.now
	}
}

// isOverdue reports whether a pod may, and whether it must, count as overdue.
func (m *model) isOverdue(uid types.UID) (may, must bool) {
	p := m.waits(uid)
	if m.maxWait == 0 || p == nil {
		return false, false
	}
	return p.earliest > 0 && m.now-p.earliest >= m.maxWait, p.latest > 0 && m.now-p.latest >= m.maxWait
}

// fits reports whether a pod may go to a node regardless of room.
func fits(pod *v1.Pod, node *v1.Node) bool {
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	for _, taint := range node.Spec.Taints {
		tolerated := false
		for _, t := range pod.Spec.Tolerations {
			tolerated = tolerated || t.Key == taint.Key
		}
		if !tolerated && taint.Effect != v1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return true
}
