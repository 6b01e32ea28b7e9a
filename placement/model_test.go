package placement_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/placement"
)

// model is what a Queue is meant to do, in lists and loops.
type model struct {
	config    placement.Config
	world     *world
	immediate bool

	pods      []*modelPod
	workloads []int // the class of each
	classes   []*modelClass
	nodes     []*modelNode
	due, held []int
	ends      []modelEnd // of waits, by time
	epoch     int
	now       time.Duration
	woken     []int
}

type modelPod struct {
	placement.Pod
	number                     int
	waiting, every, unknown    bool
	nodes                      []int // it waits for, if not inverted
	inverted                   bool
	seen, tried                int
	since                      time.Duration
	forRoom, overdue           bool
	last, pause, until, failed time.Duration
	wakes, failures            int
	always                     bool
	granted                    int
}

type modelClass struct {
	number, rose int
	slots        []int // by node
}

type modelNode struct {
	number, places int
	present        bool
	grants         []int
}

type modelEnd struct {
	at  time.Duration
	pod int
}

func newModel(c placement.Config, w *world, nodes, workloads int) *model {
	m := &model{config: c, world: w, immediate: c.Pause == 0, workloads: make([]int, workloads)}
	m.config.Retry = max(m.config.Retry, m.config.Pause)
	for n := range nodes {
		m.nodes = append(m.nodes, &modelNode{number: n})
	}
	m.addClass(0)
	return m
}

func (m *model) pod(number int) *modelPod {
	for _, p := range m.pods {
		if p.number == number {
			return p
		}
	}
	return nil
}

func (m *model) class(number int) *modelClass {
	for _, c := range m.classes {
		if c.number == number {
			return c
		}
	}
	return nil
}

func (m *model) classOf(p *modelPod) *modelClass { return m.class(m.workloads[p.Workload]) }

func (p *modelPod) has(node int) bool { return slices.Contains(p.nodes, node) != p.inverted }

func (p *modelPod) free() time.Duration {
	if p.granted >= 0 && p.until > p.pause {
		return p.until
	}
	return p.pause
}

func (m *model) idle(p *modelPod) time.Duration { return max(p.last+m.config.Retry, p.free()) }

// mayWake reports whether a waiting pod may be woken for a slot.
func (m *model) mayWake(p *modelPod) bool {
	return p.waiting && p.free() <= m.now && p.seen < m.classOf(p).rose
}

func (m *model) compare(a, b *modelPod) int {
	created := func(p *modelPod) time.Duration {
		if m.config.Delay == nil {
			return time.Duration(p.Order)
		}
		return time.Duration(p.Order) + m.config.Delay(p.Workload)
	}
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(created(a), created(b)), cmp.Compare(a.number, b.number))
}

// best returns the first of the pods that are eligible.
func (m *model) best(eligible func(*modelPod) bool, compare func(a, b *modelPod) int) (best *modelPod) {
	for _, p := range m.pods {
		if eligible(p) && (best == nil || compare(p, best) < 0) {
			best = p
		}
	}
	return best
}

func (m *model) addPod(number int, of placement.Pod) {
	if m.pod(number) == nil {
		m.forget(m.class(m.workloads[of.Workload]))
		m.pods = append(m.pods, &modelPod{Pod: of, number: number, granted: -1})
	}
}

func (m *model) removePod(number int) {
	if p := m.pod(number); p != nil {
		m.release(p)
		m.pods = slices.DeleteFunc(m.pods, func(o *modelPod) bool { return o == p })
	}
}

func (m *model) try(number int) {
	p := m.pod(number)
	if p == nil {
		return
	}
	p.waiting, p.last, p.pause, p.wakes, p.always = false, m.now, p.failed, 0, false
	if m.immediate {
		return
	}
	if p.granted >= 0 {
		p.until = m.now + m.config.Grant
		p.pause = max(p.pause, p.until)
	}
	p.waiting, p.unknown, p.nodes, p.inverted, p.seen, p.tried = true, true, nil, true, -1, m.epoch
}

func (m *model) refuse(number int, nodes []int, inverted bool) {
	p := m.pod(number)
	if p == nil {
		return
	}
	p.waiting, p.unknown = true, false
	p.every, p.nodes, p.inverted = inverted && len(nodes) == 0, slices.Clone(nodes), inverted
	p.last, p.always, p.seen = m.now, false, -1
	if p.every {
		p.seen = m.epoch
	}
	if !m.immediate {
		if p.every {
			p.seen = p.tried
		}
		return
	}
	for _, c := range m.classes {
		if m.total(c) > 0 && m.counted(c) && m.wakeSome(c, 1) > 0 {
			return
		}
	}
}

func (m *model) reserve(number, node int) {
	p := m.pod(number)
	if p == nil {
		return
	}
	if p.granted == node {
		m.forgetGrant(p)
	}
	m.release(p)
	p.waiting, p.forRoom, p.overdue, p.always = false, false, false, false
}

func (m *model) fail(number int) {
	if p := m.pod(number); p != nil {
		backoff := m.config.Backoff
		for range p.failures {
			backoff = min(2*backoff, m.config.Retry)
		}
		p.failed = m.now + min(backoff, m.config.Retry)
		p.failures++
	}
}

func (m *model) giveUp(number int) {
	p := m.pod(number)
	if p == nil || p.granted < 0 {
		return
	}
	m.release(p)
	p.pause = p.failed
	m.settle(p)
	if p.always && p.waiting && p.pause <= m.now {
		m.wake(p)
	}
}

func (m *model) wakeOne(number int) {
	p := m.pod(number)
	if p == nil || !p.waiting {
		return
	}
	p.always = true
	if p.free() <= m.now {
		m.wake(p)
	}
}

func (m *model) wakeIdle(most int) {
	left := map[int]int{}
	for _, c := range m.classes {
		left[c.number] = m.total(c)
	}
	for ; most > 0; most-- {
		p := m.best(func(p *modelPod) bool {
			return !m.immediate && p.waiting && p.forRoom && m.idle(p) <= m.now && left[m.classOf(p).number] > 0
		}, func(a, b *modelPod) int { return cmp.Or(cmp.Compare(m.idle(a), m.idle(b)), m.compare(a, b)) })
		if p == nil {
			return
		}
		left[m.classOf(p).number]--
		m.wake(p)
	}
}

func (m *model) wake(p *modelPod) {
	m.woken = append(m.woken, p.number)
	if m.immediate {
		p.waiting = false
		return
	}
	pause := m.config.Pause
	for range p.wakes {
		pause = min(2*pause, m.config.Retry)
	}
	p.last, p.pause = m.now, m.now+pause
	p.wakes++
}

func (m *model) wakeSome(c *modelClass, n int) (woken int) {
	for ; woken < n; woken++ {
		p := m.best(func(p *modelPod) bool { return m.classOf(p) == c && m.mayWake(p) }, m.compare)
		if p == nil {
			break
		}
		m.wake(p)
	}
	return woken
}

func (m *model) addClass(number int) {
	if m.class(number) == nil {
		m.classes = append(m.classes, &modelClass{number: number, slots: make([]int, len(m.nodes))})
	}
}

func (m *model) total(c *modelClass) (sum int) {
	for _, slots := range c.slots {
		sum += slots
	}
	return sum
}

func (m *model) counted(c *modelClass) bool {
	return c.number == 0 || slices.ContainsFunc(m.pods, func(p *modelPod) bool { return m.classOf(p) == c })
}

func (m *model) setClass(workload, number int) {
	if c := m.class(number); c != nil {
		m.forget(c)
		m.workloads[workload] = number
	}
}

// forget has a class without pods know nothing of nodes.
func (m *model) forget(c *modelClass) {
	if !m.counted(c) {
		clear(c.slots)
	}
}

func (m *model) recount(number int) {
	if c := m.class(number); c != nil {
		for _, n := range m.nodes {
			c.slots[n.number] = 0
			m.count(c, n)
		}
	}
}

func (m *model) count(c *modelClass, n *modelNode) {
	slots := 0
	if n.present {
		slots = m.world.Slots(n.number, c.number, nil)
	}
	rise := slots - c.slots[n.number]
	c.slots[n.number] = slots
	if rise > 0 {
		m.markDue(n.number)
		m.rise(c, rise)
	}
}

func (m *model) rise(c *modelClass, slots int) {
	m.epoch++
	c.rose = m.epoch
	if m.immediate {
		m.wakeSome(c, slots)
	}
}

func (m *model) addNode(number int) {
	m.nodes[number].present = true
	m.open(number)
}

// open has all pods wait for a node.
func (m *model) open(number int) {
	for _, p := range m.pods {
		switch at := slices.Index(p.nodes, number); {
		case p.inverted && at >= 0:
			p.nodes = slices.Delete(p.nodes, at, at+1)
		case !p.inverted && at < 0:
			p.nodes = append(p.nodes, number)
		}
	}
}

func (m *model) resetNode(number int) {
	if m.nodes[number].present {
		m.open(number)
		m.markDue(number)
	}
}

func (m *model) removeNode(number int) {
	n := m.nodes[number]
	if !n.present {
		return
	}
	n.present, n.places = false, 0
	for _, pod := range slices.Clone(n.grants) {
		p := m.pod(pod)
		m.forgetGrant(p)
		m.settle(p)
	}
	for _, c := range m.classes {
		c.slots[number] = 0
	}
}

func (m *model) notifyNode(number int) {
	n := m.nodes[number]
	if !n.present {
		return
	}
	for _, c := range m.classes {
		if m.counted(c) {
			m.count(c, n)
		}
	}
	if m.config.MaxWait == 0 {
		return
	}
	before := n.places
	if n.places = m.world.Places(number, 0); n.places > before && m.immediate {
		m.wakeOverdue()
	}
}

func (m *model) notifyEnd() {
	for _, c := range m.classes {
		if m.total(c) > 0 && m.counted(c) && slices.ContainsFunc(m.pods, func(p *modelPod) bool { return p.waiting }) {
			m.rise(c, 1)
		}
	}
}

func (m *model) startWait(number int) bool {
	p := m.pod(number)
	if p == nil || p.forRoom {
		return false
	}
	p.forRoom, p.since = true, m.now
	if m.config.MaxWait == 0 {
		return false
	}
	m.ends = append(m.ends, modelEnd{m.now + m.config.MaxWait, number})
	slices.SortFunc(m.ends, func(a, b modelEnd) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.pod, b.pod)) })
	return true
}

func (m *model) endWait(number int) {
	if p := m.pod(number); p != nil {
		p.forRoom, p.overdue = false, false
	}
}

func (m *model) wakeOverdue() {
	left := 0
	for _, n := range m.nodes {
		left += n.places
	}
	for ; left > 0; left-- {
		p := m.best(func(p *modelPod) bool { return p.waiting && p.overdue && p.free() <= m.now }, m.compare)
		if p == nil {
			return
		}
		m.wake(p)
	}
}

func (m *model) mayExceed(number, node int) bool {
	p := m.pod(number)
	if p == nil || !p.overdue || !m.nodes[node].present {
		return false
	}
	if c := m.classOf(p); c.number != 0 {
		return m.world.Places(node, c.number) > 0
	}
	return m.nodes[node].places > 0
}

func (m *model) advance(now time.Duration) {
	var paused []*modelPod
	for _, p := range m.pods {
		if p.waiting && p.free() > m.now {
			paused = append(paused, p)
		}
	}
	m.now = now
	defer func() {
		for _, p := range paused {
			m.settle(p)
		}
	}()
	for _, p := range m.pods {
		if p.granted >= 0 && p.until <= now {
			m.release(p)
		}
		if p.waiting && p.pause <= now && (p.granted >= 0 || p.always) {
			m.wake(p)
		}
	}
	for len(m.ends) > 0 && m.ends[0].at <= now {
		p := m.pod(m.ends[0].pod)
		m.ends = m.ends[1:]
		if p != nil && p.forRoom && p.since+m.config.MaxWait <= now {
			p.overdue = true
		}
		if !m.immediate {
			continue
		}
		m.wakeOverdue()
		if p != nil && p.waiting && m.classOf(p).number != 0 {
			m.wake(p)
		}
	}
}

func (m *model) markDue(node int) {
	if !m.immediate && m.nodes[node].present && !slices.Contains(m.due, node) {
		m.due = append(m.due, node)
	}
}

// settle has the nodes that are held looked at again if a pod may be woken now.
func (m *model) settle(p *modelPod) {
	if p.waiting && p.free() <= m.now {
		for _, n := range m.held {
			m.markDue(n)
		}
		m.held = nil
	}
}

func (m *model) release(p *modelPod) {
	if p.granted >= 0 {
		m.markDue(p.granted)
		m.forgetGrant(p)
	}
}

func (m *model) forgetGrant(p *modelPod) {
	n := m.nodes[p.granted]
	n.grants = slices.DeleteFunc(n.grants, func(pod int) bool { return pod == p.number })
	p.granted = -1
}

// modelGrants is what nodes have left in a round, by node and class.
type modelGrants struct {
	slots  map[[2]int]int
	beside map[int][]int
	nodes  []int
}

func (m *model) slotGrants(nodes []int, count func(node, class int) int) *modelGrants {
	o := &modelGrants{map[[2]int]int{}, map[int][]int{}, nodes}
	for _, n := range nodes {
		for _, c := range m.classes {
			o.slots[[2]int{n, c.number}] = count(n, c.number)
		}
	}
	return o
}

func (o *modelGrants) grantSlot(m *model, node, class int, recount bool) {
	o.beside[node] = append(o.beside[node], class)
	for _, c := range m.classes {
		at := [2]int{node, c.number}
		switch {
		case o.slots[at] == 0:
		case recount && c.number != class:
			o.slots[at] = min(o.slots[at], m.world.Slots(node, c.number, o.beside[node]))
		default:
			o.slots[at]--
		}
	}
}

// node returns the lowest that a pod waits for and that has a slot, -1 if there is none.
func (o *modelGrants) node(m *model, p *modelPod) int {
	for _, n := range o.nodes {
		if p.has(n) && o.slots[[2]int{n, m.classOf(p).number}] > 0 {
			return n
		}
	}
	return -1
}

func (m *model) round() {
	var due []int
	for _, n := range m.nodes {
		if n.present && (slices.Contains(m.due, n.number) || slices.Contains(m.held, n.number)) {
			due = append(due, n.number)
		}
	}
	m.due, m.held = nil, nil
	o := m.slotGrants(due, func(node, class int) int { return m.world.Slots(node, class, nil) })
	for _, n := range due {
		for _, pod := range m.nodes[n].grants {
			o.grantSlot(m, n, m.classOf(m.pod(pod)).number, true)
		}
	}
	for {
		p := m.best(func(p *modelPod) bool { return m.mayWake(p) && o.node(m, p) >= 0 }, m.compare)
		if p == nil {
			break
		}
		first, node := p.wakes == 0, o.node(m, p)
		m.wake(p)
		if !first {
			continue
		}
		if m.config.Grant > 0 {
			p.granted, p.until = node, m.now+m.config.Grant
			m.nodes[node].grants = append(m.nodes[node].grants, p.number)
		}
		o.grantSlot(m, node, m.classOf(p).number, true)
	}
	for _, p := range m.pods {
		for _, n := range due {
			if p.waiting && p.free() > m.now && p.has(n) && o.slots[[2]int{n, m.classOf(p).number}] > 0 && !slices.Contains(m.held, n) {
				m.held = append(m.held, n)
			}
		}
	}
}

func (m *model) roundOverdue(most int) {
	if m.immediate {
		return
	}
	var all []int
	for _, n := range m.nodes {
		if n.present {
			all = append(all, n.number)
		}
	}
	o := m.slotGrants(all, m.world.Places)
	for ; most > 0; most-- {
		p := m.best(func(p *modelPod) bool {
			if !p.waiting || !p.overdue || o.node(m, p) < 0 {
				return false
			}
			if !p.unknown {
				return p.free() <= m.now
			}
			// Of a workload's pods whose nodes are not known, the one left alone for longest.
			return m.idle(p) <= m.now && p == m.best(func(other *modelPod) bool {
				return other.waiting && other.overdue && other.unknown && other.Workload == p.Workload
			}, func(a, b *modelPod) int { return cmp.Or(cmp.Compare(m.idle(a), m.idle(b)), m.compare(a, b)) })
		}, m.compare)
		if p == nil {
			return
		}
		m.wake(p)
		o.grantSlot(m, o.node(m, p), m.classOf(p).number, false)
	}
}
