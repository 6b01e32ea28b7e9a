package aggregate

import (
	"sort"
	"time"
)

// changes is the order in which nodes changed. Of a node the latest change
// counts; what is left of earlier ones is cleared out once they outnumber the
// nodes.
type changes struct {
	count uint64
	log   []change
}

type change struct {
	number uint64
	node   *node
}

// slack is how many outdated changes are not worth clearing out.
const slack = 1024

// note makes n the latest to have changed; nodes is how many there are.
func (c *changes) note(n *node, nodes int) {
	c.count++
	n.change = c.count
	if len(c.log) > 2*nodes+slack {
		latest := c.log[:0]
		for _, one := range c.log {
			if one.number == one.node.change {
				latest = append(latest, one)
			}
		}
		clear(c.log[len(latest):])
		c.log = latest
	}
	c.log = append(c.log, change{c.count, n})
}

// after returns the changes beyond a number.
func (c *changes) after(number uint64) []change {
	return c.log[sort.Search(len(c.log), func(i int) bool { return c.log[i].number > number }):]
}

// Cursor is how many changes there have been so far: where a reader of Changes
// will stand once it has read them all.
func (a *Aggregator) Cursor() uint64 { return a.changes.count }

// Changes returns what is kept of the nodes that changed after one cursor and
// up to another, each once, in the order of their latest change, and the cursor
// to go on from. What was taken over from the replica except is left out, as
// are nodes too old for another replica to take over. It ends early once the
// entries' sizes (Entry.Size) sum to limit or more, so that an answer has a
// bounded size; the cursor is then below upto.
func (a *Aggregator) Changes(at time.Time, after, upto, except uint64, limit int) ([]Entry, uint64) {
	var entries []Entry
	size := 0
	for _, c := range a.changes.after(after) {
		if c.number > upto {
			break
		}
		if size >= limit {
			return entries, after
		}
		after = c.number
		n := c.node
		if c.number != n.change || except != 0 && n.from == except || n.age(at) > a.options.fresh() {
			continue
		}
		e := n.entry(at)
		size += e.Size()
		entries = append(entries, e)
	}
	return entries, max(after, upto)
}
