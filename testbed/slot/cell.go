package slot

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// cell is what a Table keeps of one slot.
type cell struct {
	id ID
	// wanted reports whether the order has the slot, at index.
	wanted bool
	index  int
	// owner claims the slot, at this size.
	owner, size string
	// placeholders and pods are those that are there, the one that counts first.
	placeholders, pods []Pod
	// emptyAt is when the slot was first seen with neither; zero if it is not.
	emptyAt time.Time
	state   State
	// counted reports whether state is in the table's counts.
	counted bool
}

// put takes in the pod as it is now.
func (c *cell) put(p Pod) {
	list := &c.pods
	if p.Role == Placeholder {
		list = &c.placeholders
	}
	if i := slices.IndexFunc(*list, func(q Pod) bool { return q.UID == p.UID }); i >= 0 {
		(*list)[i] = p
	} else {
		*list = append(*list, p)
	}
}

// remove takes the pod out.
func (c *cell) remove(uid string) {
	same := func(p Pod) bool { return p.UID == uid }
	c.placeholders = slices.DeleteFunc(c.placeholders, same)
	c.pods = slices.DeleteFunc(c.pods, same)
}

// update orders the cell's pods and works out its state.
func (c *cell) update(config *Config, now time.Time) {
	c.sortPods()
	c.sortPlaceholders(config)
	switch empty := len(c.placeholders) == 0 && len(c.pods) == 0; {
	case !empty:
		c.emptyAt = time.Time{}
	case c.emptyAt.IsZero():
		c.emptyAt = now
	}
	c.state = c.stateNow(config)
}

// sortPods has the pod first that may stay. That is one of the owner's, however old: a
// pod that was bound late, after its claim had ended, is not what the slot is for.
func (c *cell) sortPods() {
	if len(c.pods) < 2 {
		return
	}
	slices.SortFunc(c.pods, func(a, b Pod) int {
		return cmp.Or(before(a.Owner == c.owner, b.Owner == c.owner), before(!a.Deleting, !b.Deleting), older(a, b))
	})
}

// sortPlaceholders has the placeholder first that may stay.
func (c *cell) sortPlaceholders(config *Config) {
	if len(c.placeholders) < 2 {
		return
	}
	slices.SortFunc(c.placeholders, func(a, b Pod) int {
		_, unfitA := c.unfit(&a, config)
		_, unfitB := c.unfit(&b, config)
		return cmp.Or(before(!unfitA, !unfitB), before(!a.Deleting, !b.Deleting), before(a.Node != "", b.Node != ""), older(a, b))
	})
}

func (c *cell) stateNow(config *Config) State {
	switch {
	case !c.wanted:
		return Retiring
	case len(c.pods) > 0:
		return Occupied
	case c.owner != "":
		return Reserved
	case c.held(config):
		return Free
	}
	return Pending
}

// held reports whether a placeholder holds the slot's resources.
func (c *cell) held(config *Config) bool {
	if len(c.placeholders) == 0 || config.Idle {
		return false
	}
	_, unfit := c.unfit(&c.placeholders[0], config)
	return !unfit && !c.placeholders[0].Deleting && c.placeholders[0].Node != ""
}

// unfit reports whether the placeholder does not do for the slot, and why. What a claimed slot
// holds stays as it is until the claim ends.
func (c *cell) unfit(g *Pod, config *Config) (why string, is bool) {
	switch {
	case g.Terminal:
		return ended, true
	case g.Node != "" && g.Node != c.id.Node:
		return moved, true
	case c.owner == "" && g.Size != config.Size:
		return resized, true
	}
	return "", false
}

// wantsPlaceholder reports whether the slot is to have a placeholder, or why not. A claimed slot that
// retires keeps the one that it has.
func (c *cell) wantsPlaceholder(config *Config) (why string, is bool) {
	switch {
	case len(c.pods) > 0:
		return entered, false
	case c.owner != "":
		return "", true
	case !c.wanted || config.Idle:
		return unwanted, false
	}
	return "", true
}

// excess reports whether placeholder i is to be deleted, and why.
func (c *cell) excess(i int, config *Config) (why string, is bool) {
	g := &c.placeholders[i]
	if g.Deleting {
		return "", false
	}
	if why, unfit := c.unfit(g, config); unfit {
		return why, true
	}
	if why, wants := c.wantsPlaceholder(config); !wants {
		return why, true
	}
	return double, i > 0
}

// intrudes reports whether pod i is to be deleted.
func (c *cell) intrudes(i int) bool { return i > 0 && !c.pods[i].Deleting }

// lacks reports whether a placeholder is to be created. While one is there, even on its way
// out, its name is taken.
func (c *cell) lacks(config *Config) bool {
	_, wants := c.wantsPlaceholder(config)
	return wants && c.wanted && len(c.placeholders) == 0
}

// open reports whether something is to be done about the slot, now or later.
func (c *cell) open(config *Config) bool {
	for i := range c.pods {
		if c.intrudes(i) {
			return true
		}
	}
	for i := range c.placeholders {
		if _, yes := c.excess(i, config); yes {
			return true
		}
	}
	return c.lacks(config)
}

// diff appends what is to be done about the slot to dst, and returns when to ask again if
// that is a matter of time.
func (c *cell) diff(dst []Action, config *Config, now time.Time) ([]Action, time.Time) {
	for i := range c.pods {
		if c.intrudes(i) {
			dst = append(dst, deletion(DeletePod, double, c.id, &c.pods[i]))
		}
	}
	for i := range c.placeholders {
		if why, yes := c.excess(i, config); yes {
			dst = append(dst, deletion(DeletePlaceholder, why, c.id, &c.placeholders[i]))
		}
	}
	if !c.lacks(config) {
		return dst, time.Time{}
	}
	size := config.Size
	if c.owner != "" {
		if due := c.emptyAt.Add(patience); now.Before(due) {
			return dst, due
		}
		size = cmp.Or(c.size, size)
	}
	return append(dst, Action{
		Op: CreatePlaceholder, Reason: missing, Slot: c.id, Name: PlaceholderName(config.UID, c.id), Size: size,
	}), time.Time{}
}

func deletion(op Op, why string, id ID, p *Pod) Action {
	return Action{Op: op, Reason: why, Slot: id, Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

// before orders what is true before what is not.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func older(a, b Pod) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.UID, b.UID))
}
