package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/reserve"
)

func TestSignal(t *testing.T) {
	r := agent.Report{Avail: -1.5, Allowance: 2, Pods: []reserve.PodKey{1, 2, 3}, K: 7, Saturated: true}
	want := reserve.Signal{Avail: -1.5, StartupAllowance: 2, Allowance: 2, Pods: 3, K: 7, Saturated: true}
	if diff := cmp.Diff(want, r.Signal()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMemoryRoom checks the room by memory alone, whatever the CPU's state.
func TestMemoryRoom(t *testing.T) {
	cpu := agent.ChannelReport{Name: agent.CPU, Usage: 1, Cost: .25}
	memory := func(usage, cost, sd float64) []agent.ChannelReport {
		return []agent.ChannelReport{cpu, {Name: agent.Memory, Usage: usage, Cost: cost, CostSD: sd}}
	}
	for _, test := range []struct {
		name     string
		channels []agent.ChannelReport
		limiting string
		avail    float64
		want     float64
	}{
		{"half empty", memory(.5, .0625, 0), agent.CPU, -3, 8},
		{"the cost is uncertain", memory(.5, .0625, .0625), agent.CPU, -3, 4},
		{"full", memory(.99, .001, 0), agent.CPU, -3, 0},
		{"overfull", memory(1.5, .1, 0), agent.CPU, -3, 0},
		{"not measured", []agent.ChannelReport{cpu}, agent.CPU, -3, 0},
		{"a cost of zero", memory(.5, 0, 0), agent.CPU, -3, 0},
		{"memory bounds the room", memory(.5, .0625, 0), agent.Memory, .5, .5},
		{"memory bounds the room raised by an allowance", memory(.75, .0625, 0), agent.Memory, 6, 4},
	} {
		r := agent.Report{Channels: test.channels, Limiting: test.limiting, Avail: test.avail}
		if got := r.Signal().MemoryRoom; got != test.want {
			t.Errorf("%s: got room for %g pods, want %g", test.name, got, test.want)
		}
	}
}

// TestSignalUsesOptions: rooms are counted in the cautious cost of the node's own options, which also
// set the level from which a channel is full.
func TestSignalUsesOptions(t *testing.T) {
	r := agent.Report{Limiting: agent.CPU, Channels: []agent.ChannelReport{
		{Name: agent.CPU, Usage: .2, Cost: .25, CostSD: .1, Unit: 1. / 8},
		{Name: agent.Memory, Usage: .9, Cost: .05, CostSD: .05, Unit: 1e-10},
	}}
	for name, test := range map[string]struct {
		options           capacity.AvailOptions
		cpu, memory, room float64
	}{
		"default":         {capacity.AvailOptions{}, .35, .1, 1},
		"none":            {capacity.AvailOptions{Caution: capacity.NoCaution}, .25, .05, 2},
		"three times":     {capacity.AvailOptions{Caution: 3}, .55, .2, .5},
		"full early":      {capacity.AvailOptions{Saturation: .8}, .35, .1, 0},
		"never saturated": {capacity.AvailOptions{Saturation: capacity.NeverSaturated}, .35, .1, 1},
	} {
		s := r.SignalWith(test.options)
		if cpu, memory := s.Rooms[reserve.CPU].Cost, s.Rooms[reserve.Memory].Cost; !near(cpu, test.cpu, 1e-9) || !near(memory, test.memory, 1e-9) || !near(s.MemoryRoom, test.room, 1e-9) {
			t.Errorf("%s: got costs %g and %g and memory room %g; want %g, %g and %g", name, cpu, memory, s.MemoryRoom, test.cpu, test.memory, test.room)
		}
	}
	r.Channels[1].Usage = 1
	if s := r.SignalWith(capacity.AvailOptions{Saturation: capacity.NeverSaturated}); s.MemoryRoom != 0 {
		t.Errorf("full memory: got room for %g pods, want 0", s.MemoryRoom)
	}
}
