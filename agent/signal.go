package agent

import (
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Signal is what a scheduler decides by.
func (r *Report) Signal() reserve.Signal {
	s := reserve.Signal{
		Avail: r.Avail, Ahead: r.Allowance, Allowance: r.Allowance, Pods: len(r.Absorbed), K: r.K, Saturated: r.Saturated,
		MemoryRoom: r.memoryRoom(), Floored: r.Floored, Usual: r.Usual,
	}
	for i := range r.Channels {
		c := &r.Channels[i]
		room := c.room()
		switch {
		case c.Unit > 0 && c.Name == CPU:
			s.Rooms[reserve.CPU] = room
		case c.Unit > 0 && c.Name == Memory:
			s.Rooms[reserve.Memory] = room
		case s.Rest == (reserve.Room{}) || (room.Left+room.Ahead)*s.Rest.Cost < (s.Rest.Left+s.Rest.Ahead)*room.Cost:
			room.Unit = 0
			s.Rest = room
		}
	}
	return s
}

// room is what a scheduler decides on pods of known workloads by.
func (c *ChannelReport) room() reserve.Room {
	return reserve.Room{Left: c.Room, Ahead: c.Ahead, Unit: c.Unit, Cost: c.Cost + c.CostSD, SD: c.PodSD, Most: c.Most}
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
