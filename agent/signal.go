package agent

import (
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Signal is what a scheduler decides by, of a node with the default options.
func (r *Report) Signal() reserve.Signal { return r.SignalWith(capacity.AvailOptions{}) }

// SignalWith is Signal of a node with Config.Avail o, whose caution and saturation hold for
// whatever is decided by its report.
func (r *Report) SignalWith(o capacity.AvailOptions) reserve.Signal {
	s := reserve.Signal{
		Avail: r.Avail, StartupAllowance: r.Allowance, Allowance: r.Allowance, Pods: len(r.Pods), K: r.K, Saturated: r.Saturated,
		MemoryRoom: r.memoryRoom(o), Floored: r.Floored, TypicalCPU: r.TypicalCPU,
	}
	for i := range r.Channels {
		c := &r.Channels[i]
		room := c.room(o)
		switch {
		case c.Unit > 0 && c.Name == CPU:
			s.Rooms[reserve.CPU] = room
		case c.Unit > 0 && c.Name == Memory:
			s.Rooms[reserve.Memory] = room
		case s.Rest == (reserve.Room{}) || (room.Left+room.StartupAllowance)*s.Rest.Cost < (s.Rest.Left+s.Rest.StartupAllowance)*room.Cost:
			room.Unit = 0
			s.Rest = room
		}
	}
	return s
}

// room is what a scheduler decides on pods of known workloads by.
func (c *ChannelReport) room(o capacity.AvailOptions) reserve.Room {
	return reserve.Room{Left: c.Room, StartupAllowance: c.StartupAllowance, Unit: c.Unit, Cost: o.Cautious(c.Cost, c.CostSD), SD: c.PodSD, Most: c.Most}
}

// memoryRoom is how many pods more the memory alone would hold: (1 − y)/c⁺,
// none where it is full or not measured, and no more than Avail where memory is
// what bounds that.
func (r *Report) memoryRoom(o capacity.AvailOptions) float64 {
	room := 0.
	for _, c := range r.Channels {
		if cost := o.Cautious(c.Cost, c.CostSD); c.Name == Memory && cost > 0 && !o.IsFull(c.Usage) {
			room = (1 - c.Usage) / cost
		}
	}
	if r.Limiting == Memory {
		room = min(room, r.Avail)
	}
	return room
}
