package slot

import (
	"cmp"
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

// Table keeps a testbed's slots. Configure, SetClaims, Observe and Forget set what is;
// the other methods read. An event costs a time that does not depend on the number of slots.
// A Table is not safe for concurrent use. Make one with NewTable.
type Table struct {
	config Config
	cells  map[ID]*cell
	// claimed are the cells that have an owner.
	claimed []*cell
	// wanted has the cells of the order's slots by index.
	wanted []*cell
	// where is the slot of each pod that is in a cell.
	where map[string]ID
	// open are the cells about which something is to be done, now or later.
	open   map[*cell]struct{}
	counts Counts
}

// NewTable returns a Table of no slots.
func NewTable() *Table {
	return &Table{
		config: Config{Order: &Order{}},
		cells:  make(map[ID]*cell), where: make(map[string]ID), open: make(map[*cell]struct{}),
	}
}

// Configure sets what is wanted from now on.
func (t *Table) Configure(c Config, now time.Time) {
	if c.Order == nil {
		c.Order = &Order{}
	}
	reordered := c.Order != t.config.Order
	t.config = c
	if reordered {
		t.place(c.Order)
	}
	for _, c := range t.cells {
		t.review(c, now)
	}
}

// place gives the order's slots their cells.
func (t *Table) place(o *Order) {
	for _, c := range t.wanted {
		c.wanted = false
	}
	t.wanted = slices.Grow(t.wanted[:0], len(o.slots))
	for index, id := range o.slots {
		c := t.cell(id)
		c.wanted, c.index = true, index
		t.wanted = append(t.wanted, c)
	}
}

// SetClaims sets all claims. A slot that is claimed twice is a *field.Error,
// and so is a claim without owner; nothing changes then. It costs a time that depends on the
// number of claimed slots alone.
func (t *Table) SetClaims(claims []Claim, now time.Time) error {
	type holding struct{ owner, size string }
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
	for _, c := range t.claimed {
		if _, still := held[c.id]; !still {
			c.owner, c.size = "", ""
			t.review(c, now)
		}
	}
	t.claimed = slices.Grow(t.claimed[:0], len(held))
	for id, h := range held {
		c := t.cell(id)
		t.claimed = append(t.claimed, c)
		if h != (holding{c.owner, c.size}) {
			c.owner, c.size = h.owner, h.size
			t.review(c, now)
		}
	}
	return nil
}

// Observe takes in a pod as it is now. A pod without UID is a *field.Error.
func (t *Table) Observe(p Pod, now time.Time) error {
	if p.UID == "" {
		return testbed.Refuse("Pod.UID", p.UID, "set")
	}
	if id, ok := t.where[p.UID]; ok && (id != p.Slot || !p.placed()) {
		t.Forget(p.UID, now)
	}
	if !p.placed() {
		return nil
	}
	c := t.cell(p.Slot)
	c.put(p)
	t.where[p.UID] = p.Slot
	t.review(c, now)
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
	id, ok := t.where[uid]
	if !ok {
		return
	}
	delete(t.where, uid)
	c := t.cells[id]
	c.remove(uid)
	t.review(c, now)
}

// cell returns the slot's cell, and makes it if need be.
func (t *Table) cell(id ID) *cell {
	c := t.cells[id]
	if c == nil {
		c = &cell{id: id}
		t.cells[id] = c
	}
	return c
}

// review brings what is known of the cell up to date.
func (t *Table) review(c *cell, now time.Time) {
	if c.counted {
		t.counts[c.state]--
	}
	c.counted = c.wanted || c.owner != "" || len(c.pods) > 0
	c.update(&t.config, now)
	if c.counted {
		t.counts[c.state]++
	}
	if c.open(&t.config) {
		t.open[c] = struct{}{}
	} else {
		delete(t.open, c)
	}
	if !c.counted && len(c.placeholders) == 0 {
		delete(t.cells, c.id)
	}
}

// Counts returns how many slots are in each state. They are those that Slots lists.
func (t *Table) Counts() Counts { return t.counts }

// Slot returns the slot as it is, and whether the table has it. The index of a retiring
// slot is left 0.
func (t *Table) Slot(id ID) (Slot, bool) {
	c := t.cells[id]
	if c == nil || !c.counted {
		return Slot{}, false
	}
	return t.view(c), true
}

func (t *Table) view(c *cell) Slot {
	s := Slot{ID: c.id, Index: c.index, State: c.state, Owner: c.owner}
	var known bool
	if s.NodeID, known = t.config.Order.NodeID(c.id.Node); !known {
		s.NodeID = -1
	}
	if !c.wanted {
		s.Index = 0
	}
	if len(c.pods) > 0 {
		p := &c.pods[0]
		s.Namespace, s.Pod, s.PodUID = p.Namespace, p.Name, p.UID
	}
	return s
}

// Slots returns the slots: the wanted ones by index, then those that retire, by identity.
func (t *Table) Slots() []Slot {
	slots := make([]Slot, 0, t.counts.Slots())
	for _, c := range t.ordered() {
		if c.counted {
			s := t.view(c)
			s.Index = len(slots)
			slots = append(slots, s)
		}
	}
	return slots
}

// ordered returns the cells: the wanted ones by index, then the others by identity.
func (t *Table) ordered() []*cell {
	if len(t.cells) == len(t.wanted) {
		return t.wanted
	}
	cells := slices.Clone(t.wanted)
	for _, c := range t.cells {
		if !c.wanted {
			cells = append(cells, c)
		}
	}
	slices.SortFunc(cells[len(t.wanted):], compareCells)
	return cells
}

// Placeholders returns the UIDs of the placeholders that hold a slot, or will when they are bound,
// one a slot, in the order of the slots.
func (t *Table) Placeholders() []string {
	uids := make([]string, 0, len(t.cells))
	for _, c := range t.ordered() {
		if len(c.placeholders) > 0 && !c.placeholders[0].Terminal {
			uids = append(uids, c.placeholders[0].UID)
		}
	}
	return uids
}

// Free returns the free slots by index. What is Pending is not among them: nothing holds its
// resources.
func (t *Table) Free() []ID {
	free := make([]ID, 0, t.counts[Free])
	for _, c := range t.wanted {
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
	for _, c := range slices.SortedFunc(maps.Keys(t.open), compareCells) {
		var due time.Time
		actions, due = c.diff(actions, &t.config, now)
		if !due.IsZero() && (again.IsZero() || due.Before(again)) {
			again = due
		}
	}
	return actions, again
}

// compareCells orders wanted cells by index, then the others by identity.
func compareCells(a, b *cell) int {
	switch {
	case a.wanted && b.wanted:
		return cmp.Compare(a.index, b.index)
	case a.wanted:
		return -1
	case b.wanted:
		return 1
	}
	return a.id.Compare(b.id)
}
