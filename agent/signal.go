package agent

import (
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Signal is what a scheduler decides by.
func (r *Report) Signal() reserve.Signal {
	return reserve.Signal{
		Avail: r.Avail, Allowance: r.Allowance, Pods: len(r.Absorbed), K: r.K, Saturated: r.Saturated,
		MemoryRoom: r.memoryRoom(),
	}
}

// memoryRoom is how many pods more the memory alone would hold: (1 − y)/(c + sd),
// none where it is full or not measured, and no more than Avail where memory is
// what bounds that.
func (r *Report) memoryRoom() float64 {
	room := 0.
	for _, c := range r.Channels {
		if cost := c.Cost + c.CostSD; c.Name == Memory && cost > 0 && c.Usage < capacity.DefaultSaturation {
			room = (1 - c.Usage) / cost
		}
	}
	if r.Limiting == Memory {
		room = min(room, r.Avail)
	}
	return room
}
