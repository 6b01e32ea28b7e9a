package plugin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// stateKey finds a cycle in a CycleState.
const stateKey fwk.StateKey = Name

// cycle is the state of all nodes as one scheduling cycle sees it. Clones share
// it: after PreFilter only the statuses change, each once.
type cycle struct {
	directory *directory
	views     []*view
	now       time.Duration
	attempt   *attempt
	// reasons are the verdicts on the views, open counts the admitted.
	reasons []reserve.Reason
	open    int
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

// look fills c with the newest views and judges them. It returns the refused,
// counted.
func (h *Hub) look(c *cycle) (t tally) {
	c.directory, c.now = h.nodes.list(), h.now()
	c.views = make([]*view, len(c.directory.nodes))
	c.reasons = make([]reserve.Reason, len(c.views))
	for i, n := range c.directory.nodes {
		v := n.view.Load()
		reason := h.rules.admitView(v, c.now)
		c.views[i], c.reasons[i] = v, reason
		if reason != reserve.Admitted {
			t.add(v.refusals, reason)
		}
	}
	c.open = len(c.views) - t.nodes
	return t
}

// refuse returns the status of the i-th node, which was refused.
func (c *cycle) refuse(i int) *fwk.Status {
	text := c.views[i].refusals.text[c.reasons[i]]
	c.arena.Do(func() { c.statuses = make([]fwk.Status, len(c.views)-c.open) })
	// More are asked for if preemption's dry run visits a node again.
	if next := c.given.Add(1); next <= int64(len(c.statuses)) {
		c.statuses[next-1] = *fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text...)
		return &c.statuses[next-1]
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text...)
}

// names returns the admitted nodes.
func (c *cycle) names() sets.Set[string] {
	set := make(sets.Set[string], c.open)
	for i, reason := range c.reasons {
		if reason == reserve.Admitted {
			set.Insert(c.directory.nodes[i].name)
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
	byReason [reserve.SlowStart + 1]int
	// byText is indexed by refusals.id.
	byText [maxChannels + 1][reserve.SlowStart + 1]int32
}

func (t *tally) add(of *refusals, reason reserve.Reason) {
	t.nodes++
	t.byReason[reason]++
	if !namesResource(reason) {
		of = nameless
	}
	t.byText[of.id][reason]++
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
