package slot

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// cell is one slot with what is in it.
type cell struct {
	id ID
	// wanted reports whether the order has the slot, at index.
	wanted bool
	index  int
	// The slot is claimed by the owner, if there is one.
	holding
	// placeholders and pods are those that are there, the one that counts first.
	placeholders, pods []Pod
	state              State
}

// put takes in a pod that is there.
func (c *cell) put(p Pod) {
	if p.Role == Placeholder {
		c.placeholders = append(c.placeholders, p)
	} else {
		c.pods = append(c.pods, p)
	}
}

// exists reports whether others see the slot: not where only a placeholder is left of it.
func (c *cell) exists() bool { return c.wanted || c.owner != "" || len(c.pods) > 0 }

// complete orders the cell's pods and works out its state, once all of them are there.
//
// The first of the pods may stay. That is one of the owner's, however old: a pod that was bound
// late, after its claim had ended, is not what the slot is for.
func (c *cell) complete(config *Config) {
	slices.SortFunc(c.pods, func(a, b Pod) int {
		return cmp.Or(before(a.Owner == c.owner, b.Owner == c.owner), before(!a.Deleting, !b.Deleting), older(a, b))
	})
	slices.SortFunc(c.placeholders, func(a, b Pod) int {
		return cmp.Or(before(c.unfit(&a, config) == "", c.unfit(&b, config) == ""),
			before(!a.Deleting, !b.Deleting), before(a.Node != "", b.Node != ""), older(a, b))
	})
	switch {
	case !c.wanted:
		c.state = Retiring
	case len(c.pods) > 0:
		c.state = Occupied
	case c.owner != "":
		c.state = Reserved
	case c.isHeld(config):
		c.state = Free
	default:
		c.state = Pending
	}
}

// isHeld reports whether a placeholder holds the slot's resources.
func (c *cell) isHeld(config *Config) bool {
	if len(c.placeholders) == 0 || config.Idle {
		return false
	}
	p := &c.placeholders[0]
	return c.unfit(p, config) == "" && !p.Deleting && p.Node != ""
}

// unfit returns why the placeholder does not do for the slot, empty if it does. What a claimed slot
// holds stays as it is until the claim ends.
func (c *cell) unfit(p *Pod, config *Config) string {
	switch {
	case p.Terminal:
		return ended
	case p.Node != "" && p.Node != c.id.Node:
		return moved
	case c.owner == "" && p.Size != config.Size:
		return resized
	}
	return ""
}

// diff appends what is to be done about the slot to dst, and returns when to ask again if
// that is a matter of time. emptyAt is since when nothing has been in it.
func (c *cell) diff(dst []Action, config *Config, emptyAt, now time.Time) ([]Action, time.Time) {
	for i := range c.pods {
		if p := &c.pods[i]; i > 0 && !p.Deleting {
			dst = append(dst, deletion(DeletePod, double, c.id, p))
		}
	}
	// A claimed slot that retires keeps the placeholder that it has.
	wants := len(c.pods) == 0 && (c.owner != "" || c.wanted && !config.Idle)
	for i := range c.placeholders {
		p := &c.placeholders[i]
		why := c.unfit(p, config)
		switch {
		case why != "":
		case len(c.pods) > 0:
			why = entered
		case !wants:
			why = unwanted
		case i > 0:
			why = double
		}
		if why != "" && !p.Deleting {
			dst = append(dst, deletion(DeletePlaceholder, why, c.id, p))
		}
	}
	// While a placeholder is there, even on its way out, its name is taken.
	if !wants || !c.wanted || len(c.placeholders) > 0 {
		return dst, time.Time{}
	}
	size := config.Size
	if c.owner != "" {
		if due := emptyAt.Add(patience); now.Before(due) {
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
