package web

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// fleet is the nodes of a picture, by name.
type fleet struct {
	names []string
	nodes []tile
	// further is how many there are besides.
	further int
}

// tile is what is shown of a node. Two are equal if they look the same.
type tile struct {
	signal, saturated        int
	free, capacity, inFlight tenths
	running                  int
	limiting, reason         string
}

// tenths of a pod, unknown for what is no number.
type tenths int32

const unknown tenths = math.MinInt32

// tenthsOf rounds down to tenths, and from 20 on to whole pods, because 0.98 has no room for a pod.
// A node whose room changes by less need not be sent.
func tenthsOf(pods float64) tenths {
	const most = 1e6
	switch {
	case math.IsNaN(pods) || math.IsInf(pods, 0):
		return unknown
	case math.Abs(pods) >= 20:
		return tenths(math.Floor(max(-most, min(most, pods)))) * 10
	}
	return tenths(math.Floor(pods * 10))
}

// signals are numbered as they are sent.
var signals = []Signal{Missing, Fresh, Stale}

func newFleet(nodes []Node) fleet {
	names, order := make([]string, len(nodes)), make([]int, len(nodes))
	for i, n := range nodes {
		names[i], order[i] = text(n.Name, maxName), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(names[a], names[b]) })
	order = slices.CompactFunc(order, func(a, b int) bool { return names[a] == names[b] })
	f := fleet{further: max(0, len(order)-maxNodes)}
	order = order[:len(order)-f.further]
	f.names, f.nodes = make([]string, len(order)), make([]tile, len(order))
	for i, at := range order {
		f.names[i], f.nodes[i] = names[at], newTile(&nodes[at])
	}
	return f
}

func newTile(n *Node) tile {
	t := tile{
		signal: max(0, slices.Index(signals, n.Signal)),
		free:   tenthsOf(n.Free), capacity: max(0, tenthsOf(n.Capacity)), inFlight: max(0, tenthsOf(n.InFlight)),
		running: max(0, n.Running), limiting: text(n.Limiting, maxName), reason: text(n.Reason, maxWords),
	}
	if n.Saturated {
		t.saturated = 1
	}
	return t
}

func (f *fleet) sameNodes(other *picture) bool {
	return f.further == other.further && slices.Equal(f.names, other.names)
}

// ending is what all names end in, as far as it is ASCII.
func (f *fleet) ending() string {
	if len(f.names) == 0 {
		return ""
	}
	end := f.names[0]
	for _, name := range f.names {
		n := 0
		for n < min(len(end), len(name)) && end[len(end)-1-n] == name[len(name)-1-n] && name[len(name)-1-n] < utf8.RuneSelf {
			n++
		}
		end = end[len(end)-n:]
	}
	return end
}

// shared is how many of its first bytes a name has of the one before, as far as they are
// ASCII: there bytes are what scripts count, too.
func (f *fleet) shared(i, most int) int {
	n := 0
	if i > 0 {
		a, b := f.names[i-1], f.names[i]
		for n < min(len(a), len(b), most) && a[n] == b[n] && b[n] < utf8.RuneSelf {
			n++
		}
	}
	return n
}
