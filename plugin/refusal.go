package plugin

import (
	"fmt"
	"sync"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

// refusals holds the status messages of a node's refusals by reason. They are
// shared by all nodes with the same shortest resource, so that refusing costs
// no string.
type refusals [reserve.SlowStart + 1][]string

// maxChannels bounds the channel names that messages are kept for: a report
// may carry any name.
const maxChannels = 64

var messages = struct {
	sync.Mutex
	byChannel map[string]*refusals
}{byChannel: map[string]*refusals{"": newRefusals("")}}

func refusalsFor(r *agent.Report) *refusals {
	channel := ""
	if r != nil {
		channel = r.Limiting
	}
	messages.Lock()
	defer messages.Unlock()
	if known := messages.byChannel[channel]; known != nil {
		return known
	}
	if len(messages.byChannel) >= maxChannels {
		return messages.byChannel[""]
	}
	made := newRefusals(channel)
	messages.byChannel[channel] = made
	return made
}

func newRefusals(channel string) *refusals {
	shortest := ""
	if channel != "" {
		shortest = fmt.Sprintf(", shortest in %s", channel)
	}
	return &refusals{
		reserve.Stale:     {"node(s) without a current capacity report"},
		reserve.Saturated: {"node(s) saturated" + shortest},
		reserve.NoRoom:    {"node(s) without room for another pod" + shortest},
		reserve.SlowStart: {"node(s) with too many pods still starting"},
	}
}
