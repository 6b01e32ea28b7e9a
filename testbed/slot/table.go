package slot

import (
	"maps"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
)

// Role is what a pod is to a testbed.
type Role uint8

// The roles of a pod.
const (
	// Placeholder holds a slot's resources while no pod is in it.
	Placeholder Role = iota
	// Occupant is a job's pod.
	Occupant
)

// Pod is a placeholder or a job's pod, as far as a Table needs to know it.
type Pod struct {
	UID, Namespace, Name string
	Role                 Role
	// Slot is the slot that the pod names: a placeholder from its creation on, a job's pod
	// once it is bound. Zero if none.
	Slot ID
	// Node is where the pod is bound; empty if it is not.
	Node string
	// Owner is the UID of an occupant's job.
	Owner string
	// Size spells what a placeholder requests, as Config.Size does.
	Size    string
	Created time.Time
	// Terminal reports whether all containers have ended, for good.
	Terminal bool
	// Deleting reports whether the pod is on its way out. It is live until it is gone.
	Deleting bool
}

// Claim is a job's right to slots.
type Claim struct {
	// Owner is the job's UID.
	Owner string
	Slots []ID
	// Size is what the slots held when they were claimed, and hold until the claim
	// ends; empty for Config.Size.
	Size string
}

// Config is what a Table is to keep. The zero value has no slots.
type Config struct {
	// UID is the testbed's; placeholders are named by it.
	UID string
	// Order has the slots that are wanted; nil for none.
	Order *Order
	// Size spells what a slot holds, such as "2 cores, 4 GiB". It is compared, never read,
	// so that any spelling will do in which the same is spelt alike.
	Size string
	// Idle is true while unclaimed slots shall have no placeholders.
	Idle bool
}

// patience is how long a claimed slot is left without placeholder and pod, whose pod may be on its
// way: longer than a scheduler takes from the deletion of a placeholder to the bind of the pod in
// its place.
const patience = 2 * time.Second

// Table keeps a testbed's slots. Configure, SetClaims, Observe and Forget set what is; the other
// methods read, and work out all the slots anew after a change. A Table is not safe for concurrent
// use. Make one with NewTable.
type Table struct {
	config Config
	claims map[ID]holding
	pods   map[string]Pod
	// changedAt is when the last change was, and stale reports whether the cells are older.
	changedAt time.Time
	stale     bool
	// wanted are the cells of the order's slots by index, others those of further slots. ordered
	// has all of them: the wanted ones, then the others by identity.
	wanted  []cell
	others  map[ID]*cell
	ordered []*cell
	// empty is since when a slot has had neither a placeholder nor a pod.
	empty map[ID]time.Time
}

// holding is who claims a slot, at which size.
type holding struct{ owner, size string }

// NewTable returns a Table of no slots.
func NewTable() *Table { return &Table{config: Config{Order: &Order{}}, pods: make(map[string]Pod)} }

// changed notes a change.
func (t *Table) changed(now time.Time) { t.changedAt, t.stale = now, true }

// Configure sets what is wanted from now on.
func (t *Table) Configure(c Config, now time.Time) {
	if c.Order == nil {
		c.Order = &Order{}
	}
	t.config = c
	t.changed(now)
}

// SetClaims sets all claims. A slot that is claimed twice is a *field.Error, and so is a claim
// without owner; nothing changes then.
func (t *Table) SetClaims(claims []Claim, now time.Time) error {
	held := make(map[ID]holding)
	for _, c := range claims {
		if c.Owner == "" {
			return testbed.Refuse("Claim.Owner", c.Owner, "a job's UID")
		}
		for _, id := range c.Slots {
			if _, twice := held[id]; twice {
				return testbed.Refuse("Claim.Slots", id, "claimed once")
			}
			held[id] = holding{c.Owner, c.Size}
		}
	}
	if !maps.Equal(held, t.claims) {
		t.claims = held
		t.changed(now)
	}
	return nil
}

// Observe takes in a pod as it is now. A pod without UID is a *field.Error.
func (t *Table) Observe(p Pod, now time.Time) error {
	if p.UID == "" {
		return testbed.Refuse("Pod.UID", p.UID, "set")
	}
	t.pods[p.UID] = p
	t.changed(now)
	return nil
}

// placed reports whether the pod has a place in the table: a placeholder by the slot that it
// names, an occupant while it is live on the slot's node.
func (p *Pod) placed() bool {
	if p.Role == Placeholder {
		return p.Slot != ID{}
	}
	return p.Node != "" && p.Node == p.Slot.Node && !p.Terminal
}

// Forget takes out a pod that is gone.
func (t *Table) Forget(uid string, now time.Time) {
	if _, there := t.pods[uid]; there {
		delete(t.pods, uid)
		t.changed(now)
	}
}

// all returns the cells in their order, as they are after the last change.
func (t *Table) all() []*cell {
	if !t.stale {
		return t.ordered
	}
	slots := t.config.Order.slots
	t.stale, t.wanted, t.others, t.ordered = false, make([]cell, len(slots)), make(map[ID]*cell), make([]*cell, 0, len(slots))
	for i, id := range slots {
		t.wanted[i] = cell{id: id, wanted: true, index: i}
		t.ordered = append(t.ordered, &t.wanted[i])
	}
	for id, h := range t.claims {
		t.cell(id).holding = h
	}
	for _, p := range t.pods {
		if p.placed() {
			t.cell(p.Slot).put(p)
		}
	}
	slices.SortFunc(t.ordered[len(slots):], func(a, b *cell) int { return a.id.Compare(b.id) })
	before := t.empty
	t.empty = make(map[ID]time.Time)
	for _, c := range t.ordered {
		c.complete(&t.config)
		if len(c.placeholders) == 0 && len(c.pods) == 0 {
			t.empty[c.id] = t.changedAt
			if since, was := before[c.id]; was {
				t.empty[c.id] = since
			}
		}
	}
	return t.ordered
}

// find returns the slot's cell, nil if there is none.
func (t *Table) find(id ID) *cell {
	if i, ok := t.config.Order.Index(id); ok {
		return &t.wanted[i]
	}
	return t.others[id]
}

// cell returns the slot's cell, and makes it if need be.
func (t *Table) cell(id ID) *cell {
	c := t.find(id)
	if c == nil {
		c = &cell{id: id}
		t.others[id] = c
		t.ordered = append(t.ordered, c)
	}
	return c
}

// Counts returns how many slots are in each state. They are those that Slots lists.
func (t *Table) Counts() (counts Counts) {
	for _, c := range t.all() {
		if c.exists() {
			counts[c.state]++
		}
	}
	return counts
}

func (t *Table) view(c *cell) Slot {
	s := Slot{ID: c.id, Index: c.index, State: c.state, Owner: c.owner}
	var known bool
	if s.NodeID, known = t.config.Order.nodeID(c.id.Node); !known {
		s.NodeID = -1
	}
	if len(c.pods) > 0 {
		p := &c.pods[0]
		s.Namespace, s.Pod, s.PodUID = p.Namespace, p.Name, p.UID
	}
	return s
}

// Slots returns the slots: the wanted ones by index, then those that retire, by identity.
func (t *Table) Slots() []Slot {
	slots := make([]Slot, 0, len(t.all()))
	for _, c := range t.all() {
		if c.exists() {
			s := t.view(c)
			s.Index = len(slots)
			slots = append(slots, s)
		}
	}
	return slots
}

// Placeholders returns the UIDs of the placeholders that hold a slot, or will when they are bound,
// one a slot, in the order of the slots.
func (t *Table) Placeholders() []string {
	var uids []string
	for _, c := range t.all() {
		if len(c.placeholders) > 0 && !c.placeholders[0].Terminal {
			uids = append(uids, c.placeholders[0].UID)
		}
	}
	return uids
}

// Free returns the free slots by index. What is Pending is not among them: nothing holds its
// resources.
func (t *Table) Free() []ID {
	free := []ID{}
	for _, c := range t.all() {
		if c.state == Free {
			free = append(free, c.id)
		}
	}
	return free
}

// Diff returns what is to be done, in the order of the slots, and when to ask again even if
// nothing happens; the zero time is never. Asked twice, it returns the same: an action stands
// until its effect is observed.
func (t *Table) Diff(now time.Time) (actions []Action, again time.Time) {
	for _, c := range t.all() {
		var due time.Time
		actions, due = c.diff(actions, &t.config, t.empty[c.id], now)
		if !due.IsZero() && (again.IsZero() || due.Before(again)) {
			again = due
		}
	}
	return actions, again
}
