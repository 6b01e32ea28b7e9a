package telemetry

import (
	"slices"
	"strconv"
	"strings"
)

// Channels reports which channels a Reader has beside cpu and memory, without which
// no node can be judged. The zero value adds none.
type Channels struct {
	// MemoryPressure is the share of time in which some task waited for memory:
	// reclaim, swap-in, a refault. It shows what the memory channel cannot, that
	// what is in use is also needed.
	MemoryPressure bool
	// IO is the share of time in which some task waited for a block device.
	IO bool
	// Network is the load of the busiest link, the larger of its two directions.
	Network bool
}

// channelNames are the names in schema order, each with what selects it; nil for
// those that are always there.
var channelNames = []struct {
	name   string
	choose func(*Channels) *bool
}{
	{cpuName, nil},
	{memoryName, nil},
	{memoryPressureName, func(c *Channels) *bool { return &c.MemoryPressure }},
	{ioName, func(c *Channels) *bool { return &c.IO }},
	{networkName, func(c *Channels) *bool { return &c.Network }},
}

// ParseChannels reads a list of channel names with commas between them, in any
// order: cpu, memory, memory-pressure, io, network. cpu and memory are always
// there, named or not. The error is a *FieldError.
func ParseChannels(s string) (Channels, error) {
	var c Channels
	if strings.TrimSpace(s) == "" {
		return c, nil
	}
	names := make([]string, len(channelNames))
	for i, n := range channelNames {
		names[i] = n.name
	}
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		i := slices.Index(names, name)
		if i < 0 {
			return Channels{}, NewFieldError("channel", strconv.Quote(name), "not one of "+strings.Join(names, ", "))
		}
		if choose := channelNames[i].choose; choose != nil {
			*choose(&c) = true
		}
	}
	return c, nil
}

// String returns the names in schema order, as ParseChannels reads them.
func (c Channels) String() string {
	var names []string
	for _, n := range channelNames {
		if n.choose == nil || *n.choose(&c) {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}
