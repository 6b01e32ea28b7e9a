package plugin

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
)

// stateKey finds a cycle in a CycleState.
const stateKey fwk.StateKey = Name

// cycle is what was decided for all nodes when a scheduling cycle began. Clones share
// it: after PreFilter only the statuses change, each once.
type cycle struct {
	directory *directory
	attempt   *attempt
	// reach gets the nodes that Filter refuses; nil where Filter is left out or
	// sees but a few nodes. rises tells of nodes that rose before they were in it.
	reach *refusedNodes
	rises func(*node)
	at    reserve.Moment
	// asks is what the pod is decided on by, question the same for briefs, if known
	// says that it is not a typical pod.
	asks     reserve.Demand
	question reserve.Question
	known    bool
	// verdicts are those of the directory's nodes, nil where all are admitted;
	// open counts the admitted.
	verdicts []verdict
	open     int
	// marked is set if the API has the pod's condition waits-for-room.
	marked bool
	// overdue says that the pod is admitted to nodes without room; trickled that it
	// was reserved on one of them. lowest is the least rank of those, 0 where
	// none is admitted.
	overdue  bool
	lowest   float64
	trickled bool
	short    reserve.Reason // there
	// weighing is of the nodes' energy, where the profile ranks by it.
	weighing weighing
	// refusals put the verdicts into words.
	refusals []*refusals
	// statuses has a place for each refused node, given counts those given away.
	// They are made together: a node costs no allocation. They can't be shared
	// between nodes or cycles, for the framework writes the plugin's name into
	// each status that it gets.
	arena    sync.Once
	statuses []fwk.Status
	given    atomic.Int64
}

// Clone implements fwk.StateData.
func (c *cycle) Clone() fwk.StateData { return c }

// judge decides for all nodes as they are now on a pod of a demand and counts the
// refused. Energy refuses none.
func (p *spazio) judge(a *attempt, pod *v1.Pod, asks reserve.Demand) (c *cycle, t tally) {
	h := p.hub
	d, at := h.nodes.list(), h.moment()
	c = &cycle{directory: d, attempt: a, at: at, asks: asks}
	c.question, c.known = reserve.Ask(asks, h.rules.admit)
	if p.ranking.Energy > 0 {
		c.weighing = p.thrift.weigh(d, at, h.cores(pod))
	}
	for i := range d.board {
		v := c.judge(i, &h.rules)
		if v.reason() == reserve.Admitted {
			continue
		}
		if c.verdicts == nil {
			c.verdicts = make([]verdict, len(d.nodes))
		}
		c.verdicts[i] = v
		t.add(v)
	}
	c.open, c.refusals = len(d.nodes)-t.nodes, allRefusals()
	return c, t
}

// judge decides for the i-th node as it is now.
func (c *cycle) judge(i int, r *rules) verdict {
	s := &c.directory.board[i]
	if !c.known {
		v, _ := r.judge(s, c.at)
		return v
	}
	if reserve.Validity(s.validity.Load()).Fresh(c.at.Now) {
		if s.holds(&c.question) {
			return verdict(reserve.Admitted)
		}
		if decision, sure := s.refuses(&c.question); sure {
			return verdict(decision&0xffffff00) | verdict(reserve.NoCPU)
		}
		var brief reserve.Brief
		if decision, ok := s.read(&brief); ok {
			if reason, sure := brief.Fits(&c.question); sure {
				return verdict(decision&0xffffff00) | verdict(reason)
			}
		}
	}
	v := c.directory.nodes[i].view.Load()
	return changeUnknown | verdict(v.refusals.id)<<8 | verdict(r.admitDemand(v, c.asks, c.at))
}

// rank returns the rank of the i-th node for the pod by its newest room, NaN if it is not
// ranked by that.
func (c *cycle) rank(i int, r *rules) float64 {
	s := &c.directory.board[i]
	if !c.known {
		_, rank := r.judge(s, c.at)
		return float64(rank)
	}
	if reserve.Validity(s.validity.Load()).Fresh(c.at.Now) {
		if rank, ok := s.ranked(); ok {
			return rank.For(&c.question)
		}
		var brief reserve.Brief
		if _, ok := s.read(&brief); ok {
			if rank, sure := brief.RankFor(&c.question); sure {
				return rank
			}
		}
	}
	v := c.directory.nodes[i].view.Load()
	if !r.freshness.Ranked(v.validity, c.at.Now) {
		return math.NaN()
	}
	return v.rankFor(c.asks)
}

// admits says whether the cycle saw room on the i-th node.
func (c *cycle) admits(i int) bool {
	return c.verdicts == nil || c.verdicts[i].reason() == reserve.Admitted
}

// admitsNode says whether the cycle saw room on a node.
func (c *cycle) admitsNode(n *node) bool {
	i, known := c.directory.named(n.name)
	return known && c.admits(i)
}

// learn notes that the plugin alone refuses the pod the i-th node. If the node
// has risen since the cycle looked at it, the waker may have passed over the
// pod.
func (c *cycle) learn(i int, r *rules) {
	c.reach.add(c.directory.ids[i])
	if c.verdicts[i].holdsYet(&c.directory.board[i]) {
		return
	}
	if c.judge(i, r).reason() == reserve.Admitted {
		c.rises(c.directory.nodes[i])
	}
}

// refuse returns the status of the i-th node, which was refused.
func (c *cycle) refuse(i int) *fwk.Status {
	text := c.refusals[c.verdicts[i].id()].text[c.verdicts[i].reason()]
	c.arena.Do(func() { c.statuses = make([]fwk.Status, len(c.directory.nodes)-c.open) })
	// More are asked for if preemption's dry run visits a node again.
	if next := c.given.Add(1); next <= int64(len(c.statuses)) {
		c.statuses[next-1] = *fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text...)
		return &c.statuses[next-1]
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text...)
}

// score returns the raw score of the i-th node by its newest room, NaN if it is
// not ranked. Most nodes of a large cluster are never scored: to note the room of
// all beforehand takes longer.
func (c *cycle) score(i int, u float64, by *rules, r reserve.Ranking) float64 {
	rank := c.rank(i, by)
	if math.IsNaN(rank) {
		return rank
	}
	k, g := 0., math.NaN()
	if r.Blend > 0 {
		k = math.Float64frombits(c.directory.ks[i].Load())
	}
	if r.Energy > 0 {
		var power energy.Power
		c.directory.powerTo(&power, i, c.at)
		g = c.weighing.relative(&power)
	}
	return reserve.Score(rank-c.lowest, k, g, u, r)
}

// ignoreRoom has nodes without room ranked, too: by how much they lack of it.
func (c *cycle) ignoreRoom(r *rules) {
	for i := range c.directory.nodes {
		if rank := c.rank(i, r); rank < c.lowest {
			c.lowest = rank
		}
	}
}

// names returns the admitted nodes.
func (c *cycle) names() sets.Set[string] {
	set := make(sets.Set[string], c.open)
	for i, n := range c.directory.nodes {
		if c.admits(i) {
			set.Insert(n.name)
		}
	}
	return set
}

// recent is the cycle that a profile worked on last. Finding it by the
// CycleState's identity spares a look-up by name in each visit of a node.
type recent struct {
	state fwk.CycleState
	cycle *cycle
}

// remember puts c where the later extension points find it.
func (p *spazio) remember(state fwk.CycleState, c *cycle) {
	state.Write(stateKey, c)
	if reflect.TypeOf(state).Comparable() {
		p.recent.Store(&recent{state: state, cycle: c})
	}
}

// cycle returns the state's cycle.
func (p *spazio) cycle(state fwk.CycleState) (*cycle, error) {
	if r := p.recent.Load(); r != nil && r.state == state {
		return r.cycle, nil
	}
	data, err := state.Read(stateKey)
	if err != nil {
		return nil, fmt.Errorf("plugin: read %s: %w (is PreFilter enabled?)", stateKey, err)
	}
	c, ok := data.(*cycle)
	if !ok {
		return nil, fmt.Errorf("plugin: %s holds a %T", stateKey, data)
	}
	return c, nil
}

// tally counts refused nodes by the message of their status.
type tally struct {
	nodes    int
	byReason [reserve.NoMemory + 1]int
	// byText is indexed by refusals.id.
	byText [maxChannels + 1][reserve.NoMemory + 1]int32
}

func (t *tally) add(v verdict) {
	id, reason := v.id(), v.reason()
	if !namesResource(reason) {
		id = nameless.id
	}
	t.nodes++
	t.byReason[reason]++
	t.byText[id][reason]++
}

// remove takes back an add.
func (t *tally) remove(v verdict) {
	id, reason := v.id(), v.reason()
	if !namesResource(reason) {
		id = nameless.id
	}
	t.nodes--
	t.byReason[reason]--
	t.byText[id][reason]--
}

// refusals returns the counts by message, in the messages' order.
func (t *tally) refusals() []Refusal {
	var list []Refusal
	for _, of := range allRefusals() {
		for reason, n := range t.byText[of.id] {
			if n > 0 {
				list = append(list, Refusal{Nodes: int(n), Message: of.text[reason][0]})
			}
		}
	}
	slices.SortFunc(list, func(a, b Refusal) int { return strings.Compare(a.Message, b.Message) })
	return list
}

// Refusal counts the nodes that took no pod for the same reason.
type Refusal struct {
	Nodes   int    `json:"nodes"`
	Message string `json:"message"`
}

// inWords is how the scheduler itself would count the refusals in an event.
func inWords(list []Refusal) string {
	parts := make([]string, len(list))
	for i, r := range list {
		parts[i] = fmt.Sprint(r.Nodes, " ", r.Message)
	}
	return strings.Join(parts, ", ")
}
